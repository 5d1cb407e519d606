"""The encodings that outputs may be asked for, and what is written for each."""

from __future__ import annotations

import codecs


def is_kept_to(encoding: str) -> bool:
    """Tells whether an encoding is UTF-8, in which all is written, with a byte order mark or without."""
    return _known(encoding) in ("utf-8", "utf-8-sig")


def is_marked(encoding: str) -> bool:
    """Tells whether text begins with a byte order mark, by which spreadsheets know UTF-8."""
    return _known(encoding) == "utf-8-sig"


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding or "utf-8").name
    except (LookupError, ValueError):
        return ""
