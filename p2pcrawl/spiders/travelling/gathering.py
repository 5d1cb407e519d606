"""The files that a spider needs of the folder that it is in: its neighbours travel with it, and nothing else does.

Of a project in Scrapy's form (there is a ``scrapy.cfg`` above) all code goes, and all data. Of any other folder, which
may be somebody's home, go the modules that the spider imports, those that these import, whole packages of which
anything is imported, and data files that the code names. Links, hidden files, and what looks like a secret stay.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.finding.modules import import_place, is_of_library
from p2pcrawl.spiders.loading.projects import closest_config
from p2pcrawl.spiders.travelling.bundle import FILE_BYTES_MAX, FILES_MAX, Files

DATA: Final = frozenset({".json", ".jsonl", ".csv", ".tsv", ".txt", ".xml", ".html", ".yaml", ".yml", ".toml"})
"""The endings of data files that travel with code."""
LOOKED_AT_MAX: Final = 50_000
_TEXT_MAX = 200
_OBJECT = re.compile(r"[^\W\d]\w*(?:[.:][^\W\d]\w*)+")
"""``module.Class``, as settings name it."""
_SECRET = re.compile(r"secret|credential|password|passwd|token|id_rsa|id_ed25519|service.?account", re.IGNORECASE)
_OTHERS: Final = frozenset({"__pycache__", "node_modules", "venv", "build", "dist", "site-packages"})
_SHOWS_ITS_OWN: Final = frozenset({"pyvenv.cfg", "frontier.db"})
"""What shows that a folder is an environment of Python, or the data of a crawl."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The files of a spider's project. ``entry``: that of the spider, among them; ``root``: the folder they are in."""

    root: Path
    entry: str
    files: Files
    left_out: list[str] = field(default_factory=list)
    """Data files that the code may want, and that look like secrets."""


def gather_project(file: Path) -> Gathered:
    """Gathers what a spider's file needs. Raises ConfigurationError, one line, for more than can travel."""
    file = file.resolve()
    config = closest_config(file.parent)
    gathering = _FilesNeeded(config.parent if config is not None else import_place(file)[0])
    if config is not None:
        gathering.take_tree(config.parent)
    gathering.follow(file)
    return Gathered(gathering.root, gathering.name(file), gathering.files, sorted(gathering.left_out))


class _FilesNeeded:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, bytes] = {}
        self.left_out: set[str] = set()
        self._looked_at = 0

    def name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()

    def follow(self, file: Path) -> None:
        """Takes a module, and what it imports or names of this folder, and so on."""
        self._take(file)
        followed: set[str] = set()
        while waiting := [name for name in self.files if name.endswith(".py") and name not in followed]:
            for name in waiting:
                followed.add(name)
                for wanted in self._wanted(name):
                    if wanted.is_dir():
                        self.take_tree(wanted)
                    else:
                        self._take(wanted)

    def take_tree(self, folder: Path) -> None:
        """Takes the code and the data of a folder and of those in it."""
        for here, folders, names in os.walk(folder):
            if not _SHOWS_ITS_OWN.isdisjoint(names):
                folders.clear()
                continue
            folders[:] = [each for each in sorted(folders) if _goes(Path(here) / each)]
            for name in sorted(names):
                self._looked_at += 1
                if self._looked_at > LOOKED_AT_MAX:
                    raise ConfigurationError(
                        f"{self.root} has over {LOOKED_AT_MAX:,} files: put the spider into a folder of its own"
                    )
                self._take(Path(here) / name)

    def _take(self, file: Path) -> None:
        name = self.name(file)
        if name in self.files or not _goes(file) or file.is_dir():
            return
        if file.suffix != ".py":
            if file.suffix.lower() not in DATA:
                return
            if _SECRET.search(file.name):
                self.left_out.add(name)
                return
        try:
            if file.stat().st_size > FILE_BYTES_MAX:
                raise ConfigurationError(f"{file} is over the limit of {FILE_BYTES_MAX:,} bytes for a project's file")
            self.files[name] = file.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"cannot read {file}: {error.strerror}") from error
        if len(self.files) > FILES_MAX:
            raise ConfigurationError(f"{self.root} has over {FILES_MAX:,} files that would travel with the spider")

    def _wanted(self, name: str) -> Iterator[Path]:
        """Yields the files and folders of here that a module wants."""
        file = self.root / name
        if "/" in name:
            yield self.root / name.partition("/")[0]
        try:
            tree = ast.parse(self.files[name])
        except (SyntaxError, ValueError):
            # Whoever imports it says so in better words.
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from self._modules(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield from self._modules([node.module])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= _TEXT_MAX:
                yield from self._named(node.value, file)

    def _modules(self, names: Iterable[str]) -> Iterator[Path]:
        for name in names:
            top = name.partition(".")[0]
            file, folder = self.root / f"{top}.py", self.root / top
            if (file.is_file() or folder.is_dir()) and not is_of_library(top):
                yield folder if folder.is_dir() else file

    def _named(self, text: str, module: Path) -> Iterator[Path]:
        """Yields what a text in the code may name: a data file, or a class in a setting."""
        if _OBJECT.fullmatch(text):
            yield from self._modules([re.split("[.:]", text)[0]])
        suffix = os.path.splitext(text)[1].lower()
        if suffix not in DATA or "://" in text or "\0" in text or ".." in text.split("/") or text.startswith("/"):
            return
        for folder in dict.fromkeys((module.parent, self.root)):
            if (folder / text).is_file():
                yield folder / text


def _goes(path: Path) -> bool:
    name = path.name
    return not (name.startswith(".") or name in _OTHERS or name.endswith(".egg-info") or path.is_symlink())
