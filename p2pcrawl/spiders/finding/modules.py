"""Importing a user's code by file or by module name.

A user's folders come on the path when the first of the user's modules is imported, and last: a ``brotli.py`` or
``json.py`` beside a spider must not be what the crawler itself imports, nor must a ``nt.py`` that some library would
use if it were there. What a user's modules import is found among libraries first, too.

A file is imported under a name of its own, so that a script's ``if __name__ == "__main__"`` block does not run a
second time in the process that imports it. Each file is imported once in a process; the script that a process runs
is not imported again in it. Where a file would begin a crawl by itself, its import ends.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from hashlib import blake2b
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Protocol

from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.spiders.finding.answered_names import missing_line, missing_name

USER_MODULE = "p2pcrawl_user_"
"""The beginning of the names of modules that are imported by file."""
_VARIABLE = "P2PCRAWL_USER_PATH"
_PACKAGE = Path(__file__).resolve().parents[2]
_LIBRARY = _PACKAGE.parent
_depth = 0
_folders: set[Path] = set()
"""The user's, that were put on the path here."""


class CrawlBegins(BaseException):
    """Raised where a module that is being imported would begin a crawl: what stands above is all that is wanted of it.

    It is no Exception, so that nothing on the way to whoever imports takes it for an error.
    """


class Travelled(Protocol):
    """The modules of a project that has come from elsewhere."""

    def holds(self, name: str) -> bool:
        """Tells whether a module of this name is among them."""

    def import_module(self, name: str) -> ModuleType:
        """Imports it. Raises ConfigurationError with one line when it cannot be imported."""

    def holds_file(self, path: str) -> bool:
        """Tells whether a file is among its files, by its path in the project."""

    def import_file(self, path: str) -> ModuleType:
        """Imports the module that it defines. Raises ConfigurationError."""


TRAVELLED: ContextVar[Travelled | None] = ContextVar("TRAVELLED", default=None)
"""The project of the job that is being opened."""


def importing() -> bool:
    """Tells whether a user's code is being imported right now: a crawl must not be started from there."""
    return _depth > 0


def import_file(path: str | Path) -> ModuleType:
    """Imports the module that the file defines. Raises ConfigurationError with one line when it cannot be imported."""
    travelled = TRAVELLED.get()
    if travelled is not None and travelled.holds_file(str(path)):
        return travelled.import_file(str(path))
    file = Path(path).expanduser()
    if file.is_dir():
        raise ConfigurationError(f"{path} is a folder; name a spider's .py file in it")
    if not file.is_file():
        raise ConfigurationError(f"there is no file {path}")
    file = file.resolve()
    main = sys.modules.get("__main__")
    if main is not None and main_file() == file:
        return main
    root, dotted = import_place(file)
    name = dotted if "." in dotted else f"{USER_MODULE}{blake2b(os.fsencode(file), digest_size=6).hexdigest()}_{dotted}"
    known = sys.modules.get(name)
    if known is not None and _file_of(known) == file:
        return known
    add_folders(root)
    with explained(str(path), file):
        if "." in dotted:
            with suppress(CrawlBegins):
                module = importlib.import_module(dotted)
                if _file_of(module) == file:
                    return module
            name = f"{USER_MODULE}{blake2b(os.fsencode(file), digest_size=6).hexdigest()}"
        return _load(name, file)


def import_module(name: str) -> ModuleType:
    """Imports the module of that name, looked for in the current folder too; first of all, for a job whose project has
    travelled, among the modules of that.
    """
    travelled = TRAVELLED.get()
    if travelled is not None and travelled.holds(name):
        return travelled.import_module(name)
    if "" not in sys.path:
        add_folders(Path.cwd())
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if main is not None and spec is not None and spec.name == name:
        return main
    with explained(name, None):
        return importlib.import_module(name)


def environment_of_slaves() -> dict[str, str]:
    """Returns what a process that runs the same spiders needs to find what this one finds, the user's folders last.

    It is for processes started with ``-P``, which have nothing before it.
    """
    main = main_file()
    folders = {*_folders, Path.cwd(), *((main.parent,) if main is not None else ())}
    library: list[str] = [str(_LIBRARY)]
    user: list[str] = []
    for entry in map(os.path.abspath, sys.path):
        (user if Path(entry).resolve() in folders else library).append(entry)
    return {
        "PYTHONPATH": os.pathsep.join(library if library[0] not in library[1:] else library[1:]),
        _VARIABLE: os.pathsep.join(user),
    }


def is_of_library(top: str) -> bool:
    """Tells whether a module, by its name up to the first dot, is the interpreter's or of an installed library: those
    come before any of a user's.
    """
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return True
    users = {*_folders, Path.cwd()} - {_LIBRARY}
    library = [entry for entry in sys.path if entry and Path(entry).resolve() not in users]
    return PathFinder.find_spec(top, [str(_LIBRARY), *library]) is not None


def main_file() -> Path | None:
    """Returns the script that this process runs, if it is a file."""
    return _file_of(sys.modules.get("__main__"))


def add_folders(folder: Path) -> None:
    """Lets a user's folder be looked into for modules, after all others; in this process and its slaves."""
    for path in (str(folder), *os.environ.get(_VARIABLE, "").split(os.pathsep)):
        if path:
            _folders.add(Path(path).resolve())
            if path not in sys.path:
                sys.path.append(path)


def _load(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with suppress(CrawlBegins):
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def import_place(file: Path) -> tuple[Path, str]:
    """Returns the folder that imports start from, and the dotted name from there: packages are found by their
    __init__.py.
    """
    parts = [file.stem] if file.stem != "__init__" else []
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts) or file.parent.name


def _file_of(module: ModuleType | None) -> Path | None:
    name = getattr(module, "__file__", None)
    return Path(name).resolve() if name else None


@contextmanager
def explained(shown: str, file: Path | None) -> Iterator[None]:
    """Turns whatever importing raises into one line with the place in the user's file."""
    global _depth
    _depth += 1
    try:
        yield
    except P2PCrawlError:
        raise
    except SyntaxError as error:
        where = error.filename if error.filename and error.filename != str(file) else shown
        raise ConfigurationError(f"{where}, line {error.lineno}: syntax error: {error.msg}") from error
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and file is None and error.name and shown.startswith(error.name):
            raise ConfigurationError(f"there is no module {shown}") from error
        if missing := missing_name(error):
            raise ConfigurationError(f"{wanted_at(error, shown)}: {missing_line(missing)}") from error
        line = _line_of(error, file)
        text = str(error).partition("\n")[0]
        place = f" ({where})" if file is None and (where := wanted_at(error, shown)) != shown else ""
        raise ConfigurationError(f"{shown}{line} cannot be imported: {type(error).__name__}: {text}{place}") from error
    finally:
        _depth -= 1


def wanted_at(error: BaseException, shown: str) -> str:
    """Returns the file and line whose import raised: the deepest that is no import machinery and not of ours."""
    place, trace = shown, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith("<") and not Path(file).is_relative_to(_PACKAGE):
            place = f"{file}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _line_of(error: BaseException, file: Path | None) -> str:
    trace, number = error.__traceback__, 0
    while trace is not None:
        if file is not None and trace.tb_frame.f_code.co_filename == str(file):
            number = trace.tb_lineno
        trace = trace.tb_next
    return f", line {number}," if number else ""
