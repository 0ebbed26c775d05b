"""Zstandard frames: read back, refused where they are no single frame, and bounded in memory."""

from __future__ import annotations

import struct
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from turnlog.events.compress import compress, decompress
from turnlog.events.errors import BrokenLog

MIB = 1024 * 1024
SKIPPABLE = struct.pack("<II", 0x184D2A50, 4) + b"skip"
WITHOUT_SIZE = zstandard.ZstdCompressor(level=3, write_content_size=False)


@given(st.binary(max_size=300))
def test_a_frame_gives_back_what_went_in(data: bytes) -> None:
    assert decompress(compress(data), 300) == data
    assert decompress(WITHOUT_SIZE.compress(data), 300) == data


@pytest.mark.parametrize("cut", range(len(compress(b"[1]" * 100))))
def test_a_frame_cut_at_any_byte_is_broken(cut: int) -> None:
    with pytest.raises(BrokenLog):
        decompress(compress(b"[1]" * 100)[:cut], MIB)


@pytest.mark.parametrize(
    "data",
    [
        b"no frame at all",
        compress(b"a") + compress(b"b"),
        compress(b"a") + b"x",
        SKIPPABLE,
        SKIPPABLE + compress(b"a"),
    ],
)
def test_what_is_not_exactly_one_frame_is_broken(data: bytes) -> None:
    with pytest.raises(BrokenLog):
        decompress(data, MIB)


def test_a_frame_of_another_dictionary_is_broken() -> None:
    words = zstandard.ZstdCompressionDict(b"turn step chunk " * 20)
    trained = zstandard.train_dictionary(1_000, [b"event %d of a log " % n * 9 for n in range(999)])
    assert words.dict_id() != trained.dict_id()
    with pytest.raises(BrokenLog):
        decompress(zstandard.ZstdCompressor(dict_data=trained).compress(b"event 1 of" * 9), MIB)


def test_a_frame_that_lies_about_its_size_is_broken() -> None:
    frame = bytearray(compress(b"[1]" * 100))
    assert frame[5:7] == struct.pack("<H", 300 - 256)  # the size, as a frame writes it
    for size in (0, 43, 45, 60_000):
        frame[5:7] = struct.pack("<H", size)
        with pytest.raises(BrokenLog):
            decompress(bytes(frame), MIB)


@pytest.mark.parametrize("frame", [compress(bytes(1_001)), WITHOUT_SIZE.compress(bytes(1_001))])
def test_the_limit_is_the_last_size_that_is_taken(frame: bytes) -> None:
    assert len(decompress(frame, 1_001)) == 1_001
    with pytest.raises(BrokenLog):
        decompress(frame, 1_000)


def _claims_a_terabyte() -> bytes:
    """A frame that names a size of 2^40 and holds one empty block."""
    return struct.pack("<IBQ", 0xFD2FB528, 0b1110_0000, 2**40) + b"\x01\x00\x00"


def _with_a_large_window() -> bytes:
    parameters = zstandard.ZstdCompressionParameters.from_level(
        3, window_log=27, write_content_size=False
    )
    context = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return context.compress(bytes(1_000)) + context.flush()


@pytest.mark.parametrize(
    "frame",
    [
        compress(bytes(200 * MIB)),
        WITHOUT_SIZE.compress(bytes(200 * MIB)),
        _claims_a_terabyte(),
        _with_a_large_window(),
    ],
    ids=["size", "no-size", "claimed-size", "window"],
)
def test_a_frame_that_grows_beyond_the_limit_is_broken_in_little_memory(frame: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BrokenLog):
            decompress(frame, MIB)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * MIB


def test_many_threads_get_what_each_put_in() -> None:
    texts = [bytes([n]) * 20_000 for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        back = pool.map(lambda text: decompress(compress(text), 20_000), texts)
        assert list(back) == texts
