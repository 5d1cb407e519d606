"""The files of a project as they travel: packed bytes, named by the digest of what is in them.

The digest is of the sorted files, not of how they are packed, so it is the same wherever they are packed. What arrives
may be anything: nothing is inflated beyond the limit, a path leads to nowhere but into the folder, and nothing is ever
unpickled.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from p2pcrawl.model.crawl.job import PROJECT_MAX as PACKED_BYTES_MAX
from p2pcrawl.model.errors import ConfigurationError

FILES_MAX: Final = 2_000
FILE_BYTES_MAX: Final = 4 * 1024 * 1024
BYTES_MAX: Final = 16 * 1024 * 1024
PATH_MAX: Final = 200
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[tuple[str, bytes]])

Files = Mapping[str, bytes]
"""What is in each file, by its path from the project's folder, with slashes."""


def pack_files(files: Files) -> bytes:
    """Packs the files of a project. Raises ConfigurationError for more than can travel, saying which is too large."""
    check_files(files)
    packed = zlib.compress(_canonical(files), 6)
    if len(packed) > PACKED_BYTES_MAX:
        raise ConfigurationError(
            f"the spider's project is over the limit of {PACKED_BYTES_MAX:,} bytes, packed ({_largest(files)})"
        )
    return packed


def unpack_files(packed: bytes) -> dict[str, bytes]:
    """Unpacks what :func:`pack_files` packed. Raises ConfigurationError for anything else."""
    if len(packed) > PACKED_BYTES_MAX:
        raise ConfigurationError(f"a project has at most {PACKED_BYTES_MAX:,} bytes, packed")
    press = zlib.decompressobj()
    # Beside what is in the files there are their names.
    room = BYTES_MAX + FILES_MAX * (PATH_MAX * 4 + 16)
    try:
        text = press.decompress(packed, room)
        if not press.eof or press.unused_data:
            raise ConfigurationError("a project is damaged: it has no end, or is over the limit")
        pairs = _DECODER.decode(text)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise ConfigurationError(f"a project is damaged: {error}") from error
    files = dict(pairs)
    check_files(files)
    if _canonical(files) != text:
        raise ConfigurationError("a project is damaged: its files are not in their order")
    return files


def digest_of(packed: bytes) -> str:
    """Returns the digest of a packed project's files, in hex. Raises ConfigurationError for what is none."""
    return sha256(_canonical(unpack_files(packed))).hexdigest()


def check_files(files: Files) -> None:
    """Raises ConfigurationError for files that cannot travel together."""
    if not 0 < len(files) <= FILES_MAX:
        raise ConfigurationError(f"a spider's project has from 1 to {FILES_MAX:,} files, not {len(files):,}")
    for path, data in files.items():
        if not _stays_inside(path):
            raise ConfigurationError(f"a project has no file {path!r:.80}")
        if len(data) > FILE_BYTES_MAX:
            raise ConfigurationError(f"{path} is over the limit of {FILE_BYTES_MAX:,} bytes for a project's file")
    if sum(map(len, files.values())) > BYTES_MAX:
        raise ConfigurationError(f"the spider's project is over the limit of {BYTES_MAX:,} bytes ({_largest(files)})")
    folders = {parent.as_posix() for path in files for parent in PurePosixPath(path).parents}
    if both := sorted(folders & files.keys()):
        raise ConfigurationError(f"{both[0]} is a file and a folder of a project")


def write_files(packed: bytes, folder: Path) -> None:
    """Unpacks a project into a folder, which is made, for this user alone; it is there when all is in it. Raises
    ConfigurationError, OSError.
    """
    files = unpack_files(packed)
    with TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as made:
        whole = Path(made) / folder.name
        whole.mkdir(mode=0o700)
        for path, data in files.items():
            file = whole / path
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.write_bytes(data)
        whole.rename(folder)


def _stays_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return (
        0 < len(path) <= PATH_MAX
        and path == pure.as_posix()
        and not pure.is_absolute()
        and not any(
            part.startswith(".") or "\\" in part or ":" in part or not part.isprintable() for part in pure.parts
        )
    )


def _canonical(files: Files) -> bytes:
    return _ENCODER.encode([[path, files[path]] for path in sorted(files)])


def _largest(files: Files) -> str:
    path = max(files, key=lambda each: len(files[each]))
    return f"the largest of its {len(files):,} files is {path}, with {len(files[path]):,} bytes"
