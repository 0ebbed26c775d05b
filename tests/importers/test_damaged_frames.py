"""Zstandard files whose frames are damaged themselves: the sound ones behind are found."""

from __future__ import annotations

import os
from itertools import accumulate
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.files import event, frame, header, lines, write
from turnlog.importers import FileRefused, FileUnreadable, records, recover
from turnlog.importers.frames import Frame, FrameDamage, decoded, walk
from turnlog.importers.strict import open_strict

COUNT = 6
FRAMES = [frame(lines([header()]))] + [frame(lines([event(seq, "x" * 50)])) for seq in range(COUNT)]
STARTS = list(accumulate(map(len, FRAMES), initial=0))
WHOLE = b"".join(FRAMES)


def seqs(path: Path) -> list[int]:
    return [record.row.first_seq for record in records(path)]


@given(
    hurt=st.integers(1, COUNT),
    at=st.integers(0, 10**6),
    change=st.integers(1, 255),
    zeros=st.booleans(),
)
def test_one_damaged_frame_hides_no_other(
    hurt: int, at: int, change: int, zeros: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    damaged = bytearray(FRAMES[hurt])
    if zeros:
        damaged[at % len(damaged) :] = bytes(len(damaged) - at % len(damaged))
    else:
        damaged[at % len(damaged)] ^= change
    data = b"".join([*FRAMES[:hurt], bytes(damaged), *FRAMES[hurt + 1 :]])
    path = write(tmp_path_factory.mktemp("z"), data)
    found = recover(path)
    others = [seq for seq in range(COUNT) if seq != hurt - 1]
    # A change that the decoder does not mind (a reserved bit) leaves the frame whole.
    assert seqs(path) in (others, list(range(COUNT)))
    if seqs(path) == others:
        assert found.frames[0].start == STARTS[hurt]
        assert found.frames[-1].end == STARTS[hurt + 1]
        assert found.stop is not None
        assert "frame" in found.stop


@pytest.mark.parametrize("count", [1, 3, 200, 700])
@pytest.mark.parametrize("after", range(1, COUNT))
def test_zero_bytes_between_frames_are_named(tmp_path: Path, count: int, after: int) -> None:
    begin, rest = b"".join(FRAMES[:after]), b"".join(FRAMES[after:])
    path = write(tmp_path, begin + bytes(count) + rest)
    (damage,) = recover(path).frames
    assert (damage.start, damage.end) == (len(begin), len(begin) + count)
    assert not damage.torn_tail
    assert seqs(path) == list(range(COUNT))


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_frame_cut_in_the_middle_of_a_file_is_no_torn_tail(tmp_path: Path, cut: int) -> None:
    data = b"".join([*FRAMES[:3], FRAMES[3][:-cut], *FRAMES[4:]])
    path = write(tmp_path, data)
    (damage,) = recover(path).frames
    assert (damage.start, damage.end) == (STARTS[3], STARTS[4] - cut)
    assert not damage.torn_tail
    assert seqs(path) == [0, 1, 3, 4, 5]


def test_a_frame_inside_a_frame_is_its_content_and_no_frame(tmp_path: Path) -> None:
    # Stored as it is, since random bytes can't be made smaller.
    inner = frame(lines([event(9)]))
    noise = bytes((i * 167 + i // 256 * 13) % 256 for i in range(2000))
    outer = bytearray(
        zstandard.ZstdCompressor(level=1, write_checksum=True).compress(noise + inner)
    )
    outer[-1] ^= 1
    path = write(tmp_path, FRAMES[0] + bytes(outer) + FRAMES[1])
    assert seqs(path) == [0]
    (damage,) = recover(path).frames
    assert (damage.start, damage.end) == (STARTS[1], STARTS[1] + len(outer))


def test_damage_inside_a_sound_frame_is_named_by_frame_and_decoded_bytes(tmp_path: Path) -> None:
    head, row, bad = lines([header()]), lines([event(0)]), b'{"type":5}\n'
    data = [frame(head), frame(row), frame(bad), frame(lines([event(1)]))]
    path = write(tmp_path, b"".join(data))
    found = recover(path)
    begin = len(head) + len(row)
    (damage,) = found.damage
    assert (damage.start, damage.end) == (begin, begin + len(bad) - 1)
    assert damage.frame is not None
    start = len(data[0]) + len(data[1])
    assert damage.frame[:3] == (3, start, start + len(data[2]))
    where = (
        f"row 1, line 3, bytes {begin} to {begin + len(bad) - 1} (exclusive) of the decoded JSONL, "
        f"in frame 3, bytes {start} to {start + len(data[2])} of the file"
    )
    assert found.stop is not None
    assert found.stop.startswith(where)
    with pytest.raises(FileRefused) as caught, open_strict(path) as (_, rows):
        list(rows)
    assert where in str(caught.value)


def test_both_rows_of_a_seq_name_their_frames(tmp_path: Path) -> None:
    path = write(tmp_path, WHOLE + frame(lines([event(2, "other")])))
    (double,) = recover(path).doubles
    assert (double.earlier.frame, double.later.frame) == (4, COUNT + 2)


def test_a_frame_that_claims_a_huge_size_takes_no_memory_for_it(tmp_path: Path) -> None:
    # Magic, single segment with 8 bytes of content size, and one empty last block.
    claims = b"\x28\xb5\x2f\xfd" + b"\xe0" + (2**60).to_bytes(8, "little") + b"\x01\x00\x00"
    path = write(tmp_path, FRAMES[0] + claims + FRAMES[1])
    (damage,) = recover(path).frames
    assert (damage.start, damage.end) == (STARTS[1], STARTS[1] + len(claims))
    assert seqs(path) == [0]


def test_many_bytes_that_look_like_frames_end_the_search(tmp_path: Path) -> None:
    path = write(tmp_path, WHOLE + b"\xff" + b"\x28\xb5\x2f\xfd" * 5000)
    (damage,) = recover(path).frames
    assert (damage.start, damage.end) == (len(WHOLE), path.stat().st_size)
    assert seqs(path) == list(range(COUNT))


def test_a_large_frame_is_decoded_again_and_never_kept(tmp_path: Path) -> None:
    text = lines([header(), *(event(seq, "x" * 100_000) for seq in range(60))])
    path = write(tmp_path, frame(text))
    with path.open("rb") as file:
        (found,) = walk(file)
        assert isinstance(found, Frame)
        assert found.content is None
        assert b"".join(decoded(file, found)) == text
        path.write_bytes(b"")
        with pytest.raises(OSError, match="changed while it was read"):
            list(decoded(file, found))


@pytest.mark.parametrize("data", [b"", b"\x28", b"\x28\xb5\x2f\xfd", b"\x5f\x2a\x4d\x18\x01"])
def test_the_beginnings_of_a_file_are_no_session(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path, data)
    found = recover(path)
    assert (found.row_count, found.header) == (0, None)
    assert found.stop is not None
    with pytest.raises(FileRefused):
        open_strict(path).__enter__()


def test_what_is_no_file_is_told_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    for path, reason in (
        (pipe, "no regular file"),
        (tmp_path, "directory"),
        (tmp_path / "a\0b", "null"),
        (tmp_path / ("x" * 300), "too long"),
    ):
        with pytest.raises(FileUnreadable, match=reason):
            recover(path)


def test_walking_gives_frames_and_damage_that_cover_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, FRAMES[0] + b"garbage" + FRAMES[1] + FRAMES[2][:9])
    with path.open("rb") as file:
        found = list(walk(file))
    assert [type(each) for each in found] == [Frame, FrameDamage, Frame, FrameDamage]
    ends = [each.end for each in found]
    assert [each.start for each in found] == [0, *ends[:-1]]
    assert ends[-1] == path.stat().st_size
    assert isinstance(found[-1], FrameDamage)
    assert found[-1].torn_tail
