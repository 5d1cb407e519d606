"""The files of a project as they travel: what arrives may be anything."""

from __future__ import annotations

import zlib
from errno import ENOSPC
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.travelling.bundle import (
    BYTES_MAX,
    FILES_MAX,
    PACKED_BYTES_MAX,
    digest_of,
    pack_files,
    unpack_files,
    write_files,
)

FILES = {"quotes.py": b"import helpers", "helpers.py": b"", "data/urls.txt": "é".encode()}


def packed(pairs: list[tuple[str, bytes]]) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(pairs))


def test_files_arrive_as_they_left() -> None:
    assert unpack_files(pack_files(FILES)) == FILES


def test_digest_is_of_the_files_and_not_of_their_order_or_packing() -> None:
    other = zlib.compress(msgspec.msgpack.encode(sorted(FILES.items())), 1)

    assert digest_of(pack_files(FILES)) == digest_of(pack_files(dict(reversed(FILES.items())))) == digest_of(other)
    assert digest_of(pack_files(FILES)) != digest_of(pack_files({**FILES, "helpers.py": b"\n"}))


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../a.py",
        "a/../../b.py",
        "a//b.py",
        "./a.py",
        ".env",
        "a/.git/config",
        "a\\b.py",
        "c:a.py",
        "a\n",
    ],
)
def test_path_that_leads_out_of_the_folder_or_hides_is_refused(path: str) -> None:
    with pytest.raises(ConfigurationError, match="a project has no file"):
        unpack_files(packed([(path, b"")]))


def test_file_that_is_a_folder_of_others_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a file and a folder"):
        unpack_files(packed([("a", b""), ("a/b.py", b"")]))


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [(f"m{n}.py", b"") for n in range(FILES_MAX + 1)],
        [("a.py", b"x" * (5 << 20))],
        [(f"m{n}.py", b"x" * (4 << 20)) for n in range(5)],
        [("b.py", b""), ("a.py", b"")],
        [("a.py", b""), ("a.py", b"other")],
    ],
    ids=["none", "many", "large", "large-together", "in-another-order", "twice"],
)
def test_files_that_are_no_project_are_refused(pairs: list[tuple[str, bytes]]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        unpack_files(packed(pairs))

    assert len(str(caught.value)) < 200


def test_bomb_is_refused_before_it_takes_memory() -> None:
    bomb = zlib.compress(b"\0" * (4 * BYTES_MAX), 9)

    with pytest.raises(ConfigurationError, match="over the limit"):
        unpack_files(bomb)


def test_what_is_too_large_to_travel_is_told_with_the_largest_file() -> None:
    import random

    noise = random.Random(1).randbytes(PACKED_BYTES_MAX - 100)

    with pytest.raises(ConfigurationError, match=r"over the limit .* noise.txt"):
        pack_files({"a.py": noise[:200], "noise.txt": noise})


@given(st.binary(max_size=200))
def test_any_bytes_are_a_project_or_one_clear_line(data: bytes) -> None:
    try:
        files = unpack_files(data)
    except ConfigurationError as error:
        assert "\n" not in str(error)
    else:
        assert files


def test_project_is_unpacked_for_its_user_alone(tmp_path: Path) -> None:
    write_files(pack_files(FILES), tmp_path / "here")

    assert (tmp_path / "here/data/urls.txt").read_text() == "é"
    assert not (tmp_path / "here").stat().st_mode & 0o077


def test_project_that_cannot_be_written_to_its_end_is_not_there_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def until_the_disk_is_full(path: Path, data: bytes) -> int:
        if path.name == "quotes.py":
            raise OSError(ENOSPC, "No space left on device")
        return write(path, data)

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(Path, "write_bytes", until_the_disk_is_full)
        write_files(pack_files(FILES), tmp_path / "here")
    left = list(tmp_path.iterdir())
    write_files(pack_files(FILES), tmp_path / "here")

    assert left == [] and (tmp_path / "here/quotes.py").exists()
