"""The boards of jobs as registers: the value of each is the text that is in force, in short, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from zlib import crc32

CHANGES: Final = ("board-add", "board-change", "board-remove")
REMOVED: Final = "removed"
ENDING: Final = ".toml"


def board_value(text: str, closed: str) -> str:
    """Returns the value of a board as a master has it."""
    return closed or f"text {crc32(text.encode()):08x}"


def value_asked(verb: str, arguments: Mapping[str, Any]) -> str:
    """Returns what a call makes of its board."""
    return REMOVED if verb == "board-remove" else board_value(str(arguments.get("text", "")), "")


def name_asked(arguments: Mapping[str, Any]) -> str:
    """Returns the name of the board that a call is about, which the harness calls as its file."""
    return str(arguments.get("board") or arguments.get("file", "")).removesuffix(ENDING)
