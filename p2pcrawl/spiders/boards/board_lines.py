"""The lines of a board's file: for each key, the one where it stands, so that an error can name it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_table = re.compile(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?\Z").match
_key = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""").match
_part = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""").findall


def key_line(text: str, path: Sequence[str]) -> int:
    """Returns the number of the line where the key at a path stands, or the nearest one around it; 1 if none does."""
    best, line = 0, 1
    table: list[str] = []
    for number, each in enumerate(text.splitlines(), 1):
        if (found := _table(each)) is not None:
            table = at = _parts(found[1])
        elif (found := _key(each)) is not None:
            at = table + _parts(found[1])
        else:
            continue
        if at == list(path[: len(at)]) and len(at) > best:
            best, line = len(at), number
    return line


def _parts(key: str) -> list[str]:
    return [part.strip("\"'") for part in _part(key)]
