"""The faces of p2pcrawl: modules that people import from by the paths they know, and that hold no work of their own."""

from __future__ import annotations

import ast
from pathlib import Path


def is_face(source: str) -> bool:
    """Tells whether a module holds a docstring, imports and ``__all__``, and nothing else."""
    match ast.parse(source).body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return all(map(_shows, rest)) and (not rest or any(map(_is_all, rest)))
    return False


def face_parts(package: Path) -> frozenset[str]:
    """Returns the names right below ``package`` that are faces: modules, and folders in which all modules are."""
    modules = {path.stem: [path] for path in package.glob("*.py") if not path.stem.startswith("__")}
    folders = {path.name: sorted(path.rglob("*.py")) for path in package.iterdir() if path.is_dir()}
    return frozenset(
        name
        for name, files in {**modules, **folders}.items()
        if files and all(is_face(file.read_text(encoding="utf-8")) for file in files)
    )


def _shows(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom) or _is_all(node)


def _is_all(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple()):
            return True
    return False
