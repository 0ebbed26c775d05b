"""Zstandard files: frames are walked, and only what is damaged is left out."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.files import compressed, event, frame, header, lines, session_text, write
from turnlog.importers import FileRefused, recover
from turnlog.importers.file_blocks import opened
from turnlog.importers.frames import Frame, FrameDamage, walk
from turnlog.importers.strict import open_strict

TEXT = session_text()
SKIPPABLE = (0x184D2A5F).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"12345"


def content(path: Path) -> bytes:
    with opened(path) as blocks:
        return b"".join(blocks)


def rows(path: Path) -> int:
    with open_strict(path) as (_, found):
        return sum(1 for _ in found)


@pytest.mark.parametrize("checksum", [True, False])
def test_a_frame_an_append_with_and_without_checksum(tmp_path: Path, checksum: bool) -> None:
    path = write(tmp_path, compressed(TEXT, checksum=checksum), "s.jsonl.zst")
    assert content(path) == TEXT
    assert rows(path) == 5


@given(cuts=st.lists(st.integers(0, len(TEXT)), max_size=6))
def test_frames_may_be_cut_anywhere(
    cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    ends = sorted({0, len(TEXT), *cuts})
    data = b"".join(frame(TEXT[a:b]) for a, b in pairwise(ends))
    assert content(write(tmp_path_factory.mktemp("z"), data)) == TEXT


def test_skippable_frames_are_passed_over(tmp_path: Path) -> None:
    data = SKIPPABLE + frame(TEXT) + SKIPPABLE
    assert content(write(tmp_path, data)) == TEXT


def test_bytes_in_a_payload_that_look_like_a_frame_are_none(tmp_path: Path) -> None:
    text = lines([header(), event(0, "(\u00b5/\u00fd")]) + b"\x28\xb5\x2f\xfd"
    stored = zstandard.ZstdCompressor(level=1).compress(text)
    with write(tmp_path, stored + frame(b"x")).open("rb") as file:
        assert [type(each) for each in walk(file)] == [Frame, Frame]


@given(kept=st.integers(1, 400))
def test_a_torn_last_frame_alone_is_dropped_and_reported(
    kept: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole, last = compressed(TEXT), frame(lines([event(5, "last" * 40)]))
    torn = last[: min(kept, len(last) - 1)]
    path = write(tmp_path_factory.mktemp("z"), whole + torn)
    found = recover(path)
    assert (found.row_count, found.sound_events) == (5, 5)
    (damage,) = found.frames
    assert (damage.start, damage.end, damage.torn_tail) == (len(whole), len(whole + torn), True)
    with pytest.raises(FileRefused, match=f"bytes {len(whole)} to"):
        rows(path)


def test_a_frame_whose_content_was_changed_hides_none_behind_it(tmp_path: Path) -> None:
    frames = [frame(lines([header()]))]
    frames += [
        zstandard.ZstdCompressor(level=1, write_checksum=True).compress(lines([event(seq)]))
        for seq in range(3)
    ]
    broken = bytearray(frames[2])
    broken[-1] ^= 1  # of its checksum
    path = write(tmp_path, b"".join([*frames[:2], bytes(broken), frames[3]]))
    found = recover(path)
    start = len(frames[0] + frames[1])
    assert [(each.number, each.start, each.end) for each in found.frames] == [
        (3, start, start + len(broken))
    ]
    assert found.row_count == 2
    assert [(gap.first_seq, gap.end_seq) for gap in found.gaps] == [(1, 2)]
    with pytest.raises(FileRefused, match="frame 3, bytes"):
        rows(path)


@given(data=st.binary(max_size=200), at=st.integers(0, 300), value=st.integers(0, 255))
def test_no_bytes_make_the_walk_fail(
    data: bytes, at: int, value: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stored = bytearray(compressed(TEXT) + data)
    stored[at % len(stored)] = value
    path = write(tmp_path_factory.mktemp("z"), bytes(stored))
    recover(path)
    with path.open("rb") as file:
        for each in walk(file):
            assert isinstance(each, (Frame, FrameDamage))
            assert 0 <= each.start <= each.end <= len(stored)


_LARGE = """
import sys
from pathlib import Path
from turnlog.importers.strict import open_strict

with open_strict(Path(sys.argv[1])) as (_, rows):
    count = sum(1 for _ in rows)
status = Path("/proc/self/status").read_text()
peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
print(count, int(peak.split()[1]) // 1024)
"""


def test_128_mib_in_one_frame_are_read_in_bounded_memory(tmp_path: Path) -> None:
    row = lines([event(0, "x" * 4000)])
    count = 128 * 1024 * 1024 // len(row)
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    path = tmp_path / "large.jsonl.zst"
    with path.open("wb") as file, compressor.stream_writer(file) as stream:
        stream.write(lines([header()]))
        for seq in range(count):
            stream.write(row.replace(b'"seq": 0', b'"seq": %d' % seq))
    done = subprocess.run(
        [sys.executable, "-c", _LARGE, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found, peak_mib = map(int, done.stdout.split())
    assert found == count
    assert peak_mib < 120
