"""The imports of a tree, as they are written: for the laws of layers and rooms, and for the picture of both."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Arrow(NamedTuple):
    """One import: which line of which module wants what."""

    module: str
    line: int
    target: str


def modules_under(folder: Path) -> dict[str, Path]:
    """Dotted names of all modules of a package, with their files."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def arrows_of(source: str, module: str, is_package: bool) -> Iterator[Arrow]:
    """All imports in ``source``, relative ones made absolute, wherever they stand."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Arrow(module, node.lineno, alias.name)
            case ast.ImportFrom(module=origin, names=names, level=level):
                base = origin or ""
                if level:
                    parents = module.split(".")
                    parents = parents[: len(parents) - level + is_package]
                    base = ".".join([*parents, origin] if origin else parents)
                for alias in names:
                    yield Arrow(module, node.lineno, f"{base}.{alias.name}")
            case ast.Call(func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"), args=[first, *_]):
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield Arrow(module, node.lineno, first.value)
