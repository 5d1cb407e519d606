"""A census of public spiders: which names of Scrapy's they want, and which of these p2pcrawl has.

    python -m benchmarks.census FOLDER... [--missing 40] [--files]

Each folder is a repository that is checked out, or holds its Python files. A spider file counts as able to run when
every name of Scrapy's that it and the modules of its repository that it imports want, directly or not, is answered by
:mod:`p2pcrawl.spiders.finding.answered_names`: by the names as they really are, not by a list. What does not parse is
told apart (most of it is Python 2), as are settings in ``settings.py`` and ``custom_settings``. Nothing is run.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from p2pcrawl.model.choosing.foreign_names import IDLE, TOLD
from p2pcrawl.model.crawl.settings import is_ours
from p2pcrawl.spiders.finding.answered_names import install_scrapy_names

HIDDEN = {".git", ".venv", "venv", "env", "site-packages", "node_modules", "__pycache__"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.census", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--missing", type=int, default=40, help="how many of the names that are missing to list")
    parser.add_argument("--files", action="store_true", help="name each file that wants what is missing")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    install_scrapy_names()
    counts = [repository_count(folder) for folder in asked.folders]
    for line in report([count for count in counts if count.spiders or count.unreadable], asked.missing, asked.files):
        print(line)
    return 0


# -- one repository


@dataclass
class RepositoryCount:
    """The spider files of one repository, and what they want."""

    name: str
    spiders: dict[Path, frozenset[str]] = field(default_factory=dict)
    """What each is missing."""
    projects: dict[Path, frozenset[str]] = field(default_factory=dict)
    """What the modules are missing that the settings of each spider's project name, such as pipelines."""
    unreadable: int = 0
    """Files of spiders that are not Python 3."""
    settings: list[frozenset[str]] = field(default_factory=list)
    """The names that each ``settings.py`` sets."""
    custom: Counter[str] = field(default_factory=Counter)
    """How many spiders' ``custom_settings`` set each name."""


def repository_count(folder: Path) -> RepositoryCount:
    """Reads one repository."""
    found = RepositoryCount(folder.name)
    tree = SourceTree(folder)
    for path in tree.files:
        module = tree.read(path)
        if module is None:
            found.unreadable += tree.is_unread_spider(path)
            continue
        for names in settings_of_project(module):
            found.settings.append(names)
            folder = path.parents[1] if len(path.parents) > 1 else path.parent
            parts = {place for name in components_named(module) for place in tree.found(name, path)}
            found.projects[folder] = frozenset(name for place in parts for name in tree.missing(place))
        found.custom.update(custom_settings(module))
        if is_spider_file(path, module):
            found.spiders[path] = frozenset(tree.missing(path))
    return found


def with_projects(count: RepositoryCount) -> dict[Path, frozenset[str]]:
    """Returns what each spider file is missing, with what the components of its project are missing."""
    of_projects = {
        path: [missing for folder, missing in count.projects.items() if folder in path.parents]
        for path in count.spiders
    }
    return {path: missing.union(*of_projects[path]) for path, missing in count.spiders.items()}


class SourceTree:
    """The Python files of one repository, each read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = [path for path in sorted(root.rglob("*.py")) if not HIDDEN & {*path.relative_to(root).parts}]
        self._known = frozenset(self.files)
        self._read: dict[Path, ast.Module | None] = {}
        self._wants: dict[Path, tuple[set[str], set[Path]]] = {}

    def read(self, path: Path) -> ast.Module | None:
        """Returns a file's tree; None where it is not Python 3."""
        if path not in self._read:
            try:
                self._read[path] = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError, RecursionError, OSError):
                self._read[path] = None
        return self._read[path]

    def is_unread_spider(self, path: Path) -> bool:
        """Tells whether a file that cannot be parsed looks like a spider's."""
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        return "scrapy" in text and "Spider)" in text

    def missing(self, path: Path) -> set[str]:
        """Returns what a file is missing, with all that it imports of its repository."""
        found: set[str] = set()
        seen, ahead = {path}, [path]
        while ahead:
            names, imported = self._of(ahead.pop())
            found |= names
            ahead += imported - seen
            seen |= imported
        return found

    def _of(self, path: Path) -> tuple[set[str], set[Path]]:
        if path not in self._wants:
            module = self.read(path)
            names = missing_in(module) if module is not None else set()
            own = {each for name in imports_of(module) for each in self.found(name, path)} if module else set()
            self._wants[path] = names, own - {path}
        return self._wants[path]

    def found(self, name: str, wanted_by: Path) -> Iterator[Path]:
        """Yields the file of this repository that a dotted name means for one of its files, if there is one."""
        if name.startswith("."):
            folder = wanted_by.parent
            for _ in range(len(name) - len(name.lstrip(".")) - 1):
                folder = folder.parent
            parts = [part for part in name.lstrip(".").split(".") if part]
            candidates = [folder.joinpath(*parts)] if parts else [folder]
        else:
            parts = name.split(".")
            candidates = [parent.joinpath(*parts) for parent in [wanted_by.parent, *wanted_by.parents]]
            candidates = [each for each in candidates if self.root in each.parents]
        for place in candidates:
            for path in (place.with_name(place.name + ".py"), place / "__init__.py"):
                if path in self._known:
                    yield path
                    return


def is_spider_file(path: Path, module: ast.Module) -> bool:
    """Tells whether a module defines a spider: a class whose base is called so."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
            if any(base.endswith("Spider") for base in bases):
                return True
    return False


# -- what a module wants


def missing_in(module: ast.Module) -> set[str]:
    """Returns the names of Scrapy's that a module wants and that p2pcrawl does not have."""
    known_as = {alias: name for alias, name in _modules_known_as(module)}
    return set(_missing(module.body, known_as))


def _modules_known_as(module: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if is_scrapys(alias.name):
                    yield (alias.asname, alias.name) if alias.asname else ("scrapy", "scrapy")


def _missing(nodes: Iterable[ast.AST], known_as: Mapping[str, str]) -> Iterator[str]:
    """Yields what is missing; an import that may fail, since its failing is caught, is not."""
    for node in nodes:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=orelse):
                yield from _missing(orelse, known_as)
            case ast.Try(body=body, handlers=handlers) if any(map(_catches_imports, handlers)):
                if any(True for _ in _missing(body, known_as)):
                    yield from _missing(handlers, known_as)
                yield from _missing([*node.orelse, *node.finalbody], known_as)
            case ast.Import(names=names):
                yield from (each.name for each in names if is_scrapys(each.name) and not answered(each.name))
            case ast.ImportFrom(module=str(origin), names=names, level=0) if is_scrapys(origin):
                if answered(origin):
                    wanted = [f"{origin}.{each.name}" for each in names if each.name != "*"]
                    yield from (name for name in wanted if not answered(name))
                else:
                    yield from (f"{origin}.{each.name}" for each in names)
            case ast.Attribute() if (chain := _chain(node)) and chain[0] in known_as:
                yield from _first_missing([*known_as[chain[0]].split("."), *chain[1:]])
            case _:
                yield from _missing(ast.iter_child_nodes(node), known_as)


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    caught = ast.unparse(handler.type) if handler.type is not None else "Exception"
    return any(name in caught for name in ("ImportError", "ModuleNotFoundError", "Exception"))


def _chain(node: ast.AST) -> list[str]:
    """Returns the names of ``a.b.c``; none where it does not begin with a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []


def _first_missing(names: Sequence[str]) -> Iterator[str]:
    for length in range(1, len(names) + 1):
        name = ".".join(names[:length])
        if not answered(name):
            yield name
            return
        if not is_module(name):
            return


def imports_of(module: ast.Module) -> Iterator[str]:
    """Yields the dotted names that a module imports, relative ones with their dots."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            yield origin
            yield from (origin + ("" if origin.endswith(".") else ".") + alias.name for alias in node.names)


def is_scrapys(name: str) -> bool:
    return name == "scrapy" or name.startswith("scrapy.")


@cache
def is_module(name: str) -> bool:
    """Tells whether a name of Scrapy's is answered by a module."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


@cache
def answered(name: str) -> bool:
    """Tells whether p2pcrawl has a name of Scrapy's: a module, or what is in one."""
    if is_module(name):
        return True
    place, _, last = name.rpartition(".")
    return bool(place) and is_module(place) and hasattr(importlib.import_module(place), last)


# -- settings


def settings_of_project(module: ast.Module) -> list[frozenset[str]]:
    """Returns the names that a module sets, if it has the settings of a project."""
    names = frozenset(
        target.id
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.isupper()
    )
    return [names] if {"BOT_NAME", "SPIDER_MODULES"} <= names else []


COMPONENTS = ("ITEM_PIPELINES", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "EXTENSIONS")


def components_named(module: ast.Module) -> Iterator[str]:
    """Yields the modules of the components that settings name in text, and do not switch off."""
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=keys, values=values)) if (
                name in COMPONENTS
            ):
                for key, value in zip(keys, values, strict=True):
                    match key, value:
                        case ast.Constant(value=str(path)), each if not is_scrapys(path):
                            if not (isinstance(each, ast.Constant) and each.value is None):
                                yield path.rpartition(".")[0]


def custom_settings(module: ast.Module) -> set[str]:
    """Returns the names that ``custom_settings`` in a module set."""
    found: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Assign(targets=[ast.Name(id="custom_settings")], value=ast.Dict(keys=keys)):
                values = (key.value for key in keys if isinstance(key, ast.Constant))
                found |= {value for value in values if isinstance(value, str)}
    return found


def kind_of_setting(name: str) -> str:
    """Tells what becomes of a setting: it is ours, needless here, told of since it has no effect, or one's own."""
    if is_ours(name):
        return "ours"
    if name in IDLE:
        return "needless"
    return "told" if name in TOLD else "own"


# -- what is told


def report(counts: Sequence[RepositoryCount], most: int, files: bool) -> Iterator[str]:
    """Yields the lines of the report."""
    yield f"{'repository':48} {'spiders':>8} {'whole':>6} {'share':>6}  not Python 3"
    for count in counts:
        yield _row(count.name, count.spiders, count.unreadable)
    spiders = {path: missing for count in counts for path, missing in count.spiders.items()}
    yield _row(f"{len(counts)} repositories", spiders, sum(count.unreadable for count in counts))
    whole = {path: missing for count in counts for path, missing in with_projects(count).items()}
    yield _row("the same, with the components of their projects", whole, 0)
    yield ""
    yield from _unlocking(list(whole.values()), most)
    yield ""
    yield from _settings([names for count in counts for names in count.settings], "settings.py", most)
    yield ""
    yield from _settings([{name} for count in counts for name in count.custom.elements()], "custom_settings", most)
    if files:
        yield ""
        yield from (f"{path}: {', '.join(sorted(missing))}" for path, missing in spiders.items() if missing)


def _row(name: str, spiders: Mapping[Path, frozenset[str]], unreadable: int) -> str:
    whole = sum(not missing for missing in spiders.values())
    return f"{name[:48]:48} {len(spiders):8,} {whole:6,} {_share(whole, len(spiders)):>6}  {unreadable:,}"


def _unlocking(wants: list[frozenset[str]], most: int) -> Iterator[str]:
    """Yields which names are missing, those that most files want first, and the share of files once one has those."""
    blocked = Counter(name for missing in wants for name in missing)
    yield f"{'missing':64} {'blocks':>6}  whole with this and those above"
    had: set[str] = set()
    for name, count in blocked.most_common(most):
        had.add(name)
        whole = sum(missing <= had for missing in wants)
        yield f"{name:64} {count:6,}  {_share(whole, len(wants))}"
    if len(blocked) > most:
        yield f"and {len(blocked) - most} more names"


def _settings(files: Sequence[Collection[str]], what: str, most: int) -> Iterator[str]:
    """Yields what becomes of the settings that are set, and which have no effect."""
    names = Counter(name for each in files for name in each)
    kinds = Counter(kind_of_setting(name) for name in names.elements())
    told = sum(any(kind_of_setting(name) == "told" for name in each) for each in files)
    shares = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    yield f"{len(files):,} of {what}, {names.total():,} times a name: {shares}"
    yield f"with a name that has no effect, and is told: {_share(told, len(files))}"
    without = Counter({name: count for name, count in names.items() if kind_of_setting(name) == "told"})
    yield from (f"  {name:40} {count:5,}" for name, count in without.most_common(most))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


if __name__ == "__main__":
    raise SystemExit(main())
