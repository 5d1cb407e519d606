"""The user's allowance of loopback and private networks: nothing, all of them, or what a list names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any

_NAME = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\Z")
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"", "0", "false", "no", "off", "none"}

Allowance = bool | tuple[str, ...]


def allowance_of(value: Any) -> Allowance:
    """Reads an allowance from a boolean, a list, or text with commas. Raises ValueError for what names nothing."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value.lower() in _TRUE | _FALSE:
            return value.lower() in _TRUE
        value = value.split(",")
    if isinstance(value, int):
        return bool(value)
    if not isinstance(value, Iterable):
        raise ValueError(f"{value!r} is no list")
    return tuple(_entry(str(each)) for each in value if str(each).strip())


def _entry(text: str) -> str:
    entry = text.strip().strip("'\"[]()").lower().rstrip(".")
    try:
        return str(ip_network(entry, strict=False))
    except ValueError:
        # Numbers alone are an address that is mistyped.
        if _NAME.match(entry) is None or not re.search("[a-z_]", entry):
            raise ValueError(f"{text!r} is no name, address or network") from None
    return entry
