"""Content codings are undone, and bombs do not get to allocate."""

from __future__ import annotations

import gzip
import resource
import sys
import zlib
from functools import cache

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.fetch.connection.inflate import inflate, inflate_prefix
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"All work and no play makes Jack a dull boy. " * 500
MIB = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACK = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@cache
def bomb(encoding: str) -> bytes:
    """More than 1 GiB of zeros, made without making them all at once where the format allows it."""
    zeros = bytes(16 * MIB)
    match encoding:
        case "gzip":
            packer = zlib.compressobj(1, wbits=-15)
            block = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
            return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block * 70
        case "deflate":
            packer = zlib.compressobj(1, wbits=-15)
            return (packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)) * 70
        case "br":
            packer = brotli.Compressor(quality=1)
            return b"".join([*(packer.process(zeros) for _ in range(70)), packer.finish()])
        case "zstd":
            packer = zstd.ZstdCompressor(level=1)
            return b"".join([*(packer.compress(zeros) for _ in range(70)), packer.flush()])
    raise AssertionError(encoding)


def peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak / 1024


@pytest.mark.parametrize("encoding", PACK)
def test_every_coding_is_undone(encoding):
    assert inflate(PACK[encoding](TEXT), encoding, len(TEXT)) == TEXT
    assert inflate(PACK[encoding](TEXT), f" {encoding.upper()} ", len(TEXT)) == TEXT


@given(data=st.binary(max_size=2000), encodings=st.lists(st.sampled_from(sorted(PACK)), min_size=1, max_size=4))
def test_lists_of_codings_are_undone_from_the_last_to_the_first(data, encodings):
    body = data
    for encoding in encodings:
        body = PACK[encoding](body)

    assert inflate(body, ", ".join(encodings), 100_000) == data


@given(data=st.binary(min_size=1, max_size=3000), encoding=st.sampled_from(sorted(PACK)))
def test_rubbish_is_a_failure_and_nothing_else(data, encoding):
    try:
        inflated = inflate(data, encoding, 100_000)
    except FetchError as error:
        assert error.kind in (Failure.BAD_ENCODING, Failure.INFLATE_LIMIT)
    else:
        assert len(inflated) <= 100_000


def test_deflate_without_its_zlib_header_is_undone():
    assert inflate(raw_deflate(TEXT), "deflate", len(TEXT)) == TEXT


def test_gzip_members_follow_one_another_and_rubbish_after_them_is_ignored():
    body = gzip.compress(b"one") + gzip.compress(b"two") + gzip.compress(TEXT)

    assert inflate(body, "gzip", 100_000) == b"onetwo" + TEXT
    assert inflate(body + b"\0\0\0rubbish", "gzip", 100_000) == b"onetwo" + TEXT


def test_zstd_frames_follow_one_another():
    assert inflate(zstd.compress(b"one") + zstd.compress(TEXT), "zstd", 100_000) == b"one" + TEXT


@pytest.mark.parametrize("encoding", PACK)
def test_a_body_that_ends_too_early_is_a_failure(encoding):
    with pytest.raises(FetchError) as caught:
        inflate(PACK[encoding](TEXT)[:-5], encoding, len(TEXT) * 2)

    assert caught.value.kind is Failure.BAD_ENCODING


@pytest.mark.parametrize("encoding", PACK)
def test_exactly_the_limit_passes_and_one_byte_more_does_not(encoding):
    assert len(inflate(PACK[encoding](TEXT), encoding, len(TEXT))) == len(TEXT)

    with pytest.raises(FetchError) as caught:
        inflate(PACK[encoding](TEXT), encoding, len(TEXT) - 1)
    assert caught.value.kind is Failure.INFLATE_LIMIT


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_of_a_gibibyte_does_not_cost_its_size_in_memory(encoding):
    body = bomb(encoding)
    before = peak_mib()

    with pytest.raises(FetchError) as caught:
        inflate(body, encoding, 32 * MIB)

    assert caught.value.kind is Failure.INFLATE_LIMIT
    assert peak_mib() - before < 150


def test_a_bomb_within_a_bomb_stops_at_the_limit():
    body = gzip.compress(bomb("gzip"))
    before = peak_mib()

    with pytest.raises(FetchError) as caught:
        inflate(body, "gzip, gzip", 32 * MIB)

    assert caught.value.kind is Failure.INFLATE_LIMIT
    assert peak_mib() - before < 150


def test_a_million_empty_members_are_refused_before_they_take_long():
    with pytest.raises(FetchError, match="members"):
        inflate(gzip.compress(b"") * 1_000_000, "gzip", 32 * MIB)
    with pytest.raises(FetchError, match="members"):
        inflate(zstd.compress(b"") * 1_000_000, "zstd", 32 * MIB)


def test_a_zstd_window_of_hundreds_of_megabytes_is_refused():
    options = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.compression_level: 1}
    packer = zstd.ZstdCompressor(options=options)
    body = packer.compress(TEXT, zstd.ZstdCompressor.FLUSH_BLOCK) + packer.flush()

    with pytest.raises(FetchError) as caught:
        inflate(body, "zstd", 32 * MIB)

    assert caught.value.kind is Failure.BAD_ENCODING


@pytest.mark.parametrize("encoding", ["", "identity", "none", "UTF-8", "identity, identity"])
def test_what_names_no_coding_changes_nothing(encoding):
    assert inflate(TEXT, encoding, 10) == TEXT


@pytest.mark.parametrize("encoding", ["compress", "exi", "gzip, what", "aes128gcm", ",".join(["gzip"] * 1000)])
def test_unknown_and_endless_codings_are_a_failure(encoding):
    with pytest.raises(FetchError) as caught:
        inflate(TEXT, encoding, 100_000)

    assert caught.value.kind is Failure.BAD_ENCODING


@pytest.mark.parametrize("encoding", PACK)
def test_an_empty_body_is_empty_whatever_its_coding(encoding):
    assert inflate(b"", encoding, 10) == b""


@pytest.mark.parametrize("encoding", PACK)
def test_a_prefix_of_a_prefix_inflates_as_far_as_it_goes(encoding):
    assert inflate_prefix(PACK[encoding](TEXT), encoding, 100) == TEXT[:100]
    assert TEXT.startswith(inflate_prefix(PACK[encoding](TEXT)[:-5], encoding, 100_000))
