"""A project that has come from elsewhere, mounted in this process beside others: its modules are seen by itself alone.

Two jobs may bring different versions of a module of one name, and neither is to shadow a library of this machine. So
nothing of a project comes on the path. Its folder is the path of a package of its own, named by the project's digest,
and each of its modules is executed with an ``import`` of its own: a name that the project holds, and no library does,
means that module in that package. Everything else is imported as ever.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.finding.modules import CrawlBegins, explained, is_of_library

_PREFIX = "p2pcrawl_project_"


class Mount:
    """The modules of one project, from when it is mounted until the process ends."""

    def __init__(self, digest: str, folder: Path) -> None:
        self.folder = folder
        self._package = f"{_PREFIX}{digest[:32]}"
        names = {each.stem if each.suffix == ".py" else each.name for each in folder.iterdir()}
        self._tops = frozenset(name for name in names if name.isidentifier() and not is_of_library(name))
        self.builtins = {**vars(builtins), "__import__": self._import}

    def holds(self, name: str) -> bool:
        """Tells whether a module of this name is the project's."""
        return name.partition(".")[0] in self._tops

    def import_module(self, name: str) -> ModuleType:
        """Imports a module of the project. Raises ConfigurationError with one line when it cannot be imported."""
        with _in_words(self._package, self.folder), explained(name, None):
            return importlib.import_module(f"{self._package}.{name}")

    def holds_file(self, path: str) -> bool:
        """Tells whether a file is among the project's, by its path in it."""
        return not path.startswith("/") and (self.folder / path).is_file()

    def import_file(self, path: str) -> ModuleType:
        """Imports the module that a file of the project defines, by its path in it. Raises ConfigurationError."""
        file = self.folder / path
        if not file.is_file():
            raise ConfigurationError(f"there is no {path} in the project that travelled")
        dotted = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        if self.holds(dotted) and all(part.isidentifier() for part in dotted.split(".")):
            return self.import_module(dotted)
        # No name that could be imported: as a script's, or that of a library.
        name = f"{self._package}.__file_{dotted.encode().hex()}"
        known = sys.modules.get(name)
        if known is not None:
            return known
        with _in_words(self._package, self.folder), explained(path, file):
            spec = spec_from_file_location(name, file, loader=_ProjectLoader(name, str(file), self.builtins))
            assert spec is not None and spec.loader is not None
            sys.modules[name] = module = module_from_spec(spec)
            try:
                spec.loader.exec_module(module)
            except BaseException:
                sys.modules.pop(name, None)
                raise
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level or not self.holds(name):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        full = f"{self._package}.{name}"
        if fromlist:
            return builtins.__import__(full, globals, locals, fromlist, 0)
        importlib.import_module(full)
        return sys.modules[f"{self._package}.{name.partition('.')[0]}"]


def mounted(digest: str, folder: Path) -> Mount:
    """Mounts a project that is unpacked in a folder; one that is mounted already is the same."""
    known = _FINDER.mounts.get(f"{_PREFIX}{digest[:32]}")
    if known is not None:
        return known
    mount = Mount(digest, folder)
    _FINDER.add(mount, mount._package)
    return mount


class _ProjectLoader(SourceFileLoader):
    """Executes a module of a project with the project's ``import``."""

    def __init__(self, name: str, path: str, its_builtins: dict[str, Any]) -> None:
        super().__init__(name, path)
        self._builtins = its_builtins

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._builtins
        # What a script has begun by then is all that is wanted of it.
        with suppress(CrawlBegins):
            super().exec_module(module)


class _ProjectFinder(MetaPathFinder):
    """Finds the modules of mounted projects, and nothing else."""

    def __init__(self) -> None:
        self.mounts: dict[str, Mount] = {}

    def add(self, mount: Mount, package: str) -> None:
        module = ModuleType(package)
        module.__path__ = [str(mount.folder)]
        sys.modules[package] = module
        self.mounts[package] = mount
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        mount = self.mounts.get(fullname.partition(".")[0])
        if mount is None or path is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _ProjectLoader(fullname, spec.loader.path, mount.builtins)
        return spec


_FINDER = _ProjectFinder()


class _in_words:
    """Takes the names of the package and of its folder out of what importing says went wrong: nobody has typed them."""

    def __init__(self, package: str, folder: Path) -> None:
        self._names = f"{package}.", f"{folder}{os.sep}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        text = str(error)
        for name in self._names:
            text = text.replace(name, "")
        if isinstance(error, ConfigurationError) and text != str(error):
            raise ConfigurationError(text) from error.__cause__
