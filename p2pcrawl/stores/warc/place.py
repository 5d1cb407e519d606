"""The place of raw pages, as a user gives it: a folder, how files in it begin, and how large one gets."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.private.folders import make_folder
from p2pcrawl.stores.warc.warc_file import ENDING

PREFIX: Final = "p2pcrawl"
SIZE_MAX: Final = 10**9

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.I).fullmatch
_PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}").fullmatch


@dataclass(frozen=True, slots=True)
class WarcPlace:
    """A folder for WARC files. Raises ConfigurationError for what cannot be one."""

    folder: Path
    prefix: str = PREFIX
    """The beginning of each file's name."""
    size_max: int = SIZE_MAX
    """A file with so many bytes is ended, and another one begun."""

    def __post_init__(self) -> None:
        if not _PREFIX(self.prefix):
            raise ConfigurationError(
                f"WARC files cannot be called {self.prefix!r}: use 1 to 64 letters, digits, dots, dashes, underscores"
            )
        if self.size_max <= 0:
            raise ConfigurationError("a WARC file must be allowed at least one byte: give a size such as 1GB")
        object.__setattr__(self, "folder", Path(os.path.abspath(self.folder)))

    def make(self) -> None:
        """Makes the folder if it is not there. Raises ConfigurationError when files cannot be made in it."""
        try:
            make_folder(self.folder, frozenset())
        except (FileExistsError, NotADirectoryError):
            raise ConfigurationError(
                f"cannot keep raw pages in {self.folder}: it, or what it is in, is a file; name a folder"
            ) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigurationError(f"cannot keep raw pages in {self.folder}: {reason}") from None
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise ConfigurationError(f"cannot keep raw pages in {self.folder}: no permission to make files in it")

    def options(self) -> list[str]:
        """Returns the options by which a slave process is told."""
        return ["--warc", str(self.folder), "--warc-prefix", self.prefix, "--warc-size", str(self.size_max)]


def chosen_place(
    folder: str | os.PathLike[str] | None, size: int | str, appended: Sequence[str], replaced: Sequence[str] = ()
) -> tuple[WarcPlace | None, list[str]]:
    """Returns where raw pages are wanted, by a folder or by the one output that is a WARC file, and the other outputs.

    ``replaced`` are outputs that are written anew. Raises ConfigurationError.
    """
    size_max = size if isinstance(size, int) else bytes_of(size)
    for path in filter(is_warc_file, replaced):
        raise ConfigurationError(f"raw pages are never replaced: say -o {path}, which begins new files beside old ones")
    files = list(filter(is_warc_file, appended))
    if len(files) + (folder is not None) > 1:
        raise ConfigurationError("raw pages go to one place: give --warc and a folder, or one output in .warc.gz")
    if folder is not None:
        return WarcPlace(Path(folder), size_max=size_max), list(appended)
    rest = [path for path in appended if path not in files]
    return (place_of_file(files[0], size_max) if files else None), rest


def is_warc_file(path: str) -> bool:
    """Tells whether an output's name is that of a WARC file, which holds raw pages and no items."""
    return "://" not in path and path.lower().endswith((ENDING, ".warc"))


def place_of_file(path: str, size_max: int) -> WarcPlace:
    """Returns the place that ``-o x.warc.gz`` means: the folder that the file would be in, and files that begin with x.

    Raises ConfigurationError for another name.
    """
    folder, name = os.path.split(path)
    if not name.endswith(ENDING):
        raise ConfigurationError(f"raw pages are always packed: end {path} in {ENDING}, or give --warc and a folder")
    return WarcPlace(Path(folder or "."), name.removesuffix(ENDING) or PREFIX, size_max)


def bytes_of(text: str) -> int:
    """Reads a size such as 1GB, 500M or 64MiB. Raises ConfigurationError."""
    found = _SIZE(text.strip())
    if found is None or not float(found[1]):
        raise ConfigurationError(f"{text!r} is no size: give one such as 1GB, 500M or 64MiB")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " kmgt".index(found[2].lower() or " "))
