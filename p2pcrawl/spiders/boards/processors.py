"""The processors of a board's fields: by name, what they make of a text that was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any, Final

from w3lib.html import remove_tags

from p2pcrawl.spiders.page.links import normalise

_number = re.compile(r"[-+]?\d[\d.,' \u00a0\u202f]*").search
_gaps = re.compile(r"[' \u00a0\u202f]").sub

Processor = Callable[[Any, str], Any]
"""Gets a value and the URL of its page. Raises ValueError for what it cannot read."""


def _float(value: Any, url: str) -> float:
    """Reads the first number of a text, whichever way its thousands and fractions are written."""
    found = _number(str(value))
    if found is None:
        raise ValueError(f"no number in {str(value)[:80]!r}")
    text = _gaps("", found[0]).rstrip(".,")
    comma, point = text.rfind(","), text.rfind(".")
    if comma > point:
        # A comma is a fraction's unless three digits follow it, or several are there.
        whole = text.count(",") > 1 or (point < 0 and len(text) - comma == 4)
        text = text.replace(",", "") if whole else text.replace(".", "").replace(",", ".")
    else:
        text = text.replace(",", "")
        if text.count(".") > 1:
            text = text.replace(".", "")
    return float(text)


def _date(value: Any, url: str) -> str:
    text = str(value).strip()
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(text.replace("Z", "+00:00") if read is datetime.fromisoformat else text).date().isoformat()
        except ValueError:
            continue
    raise ValueError(f"no date that can be read: {text[:80]!r}")


def _url(value: Any, url: str) -> str:
    found = normalise(str(value).strip(), url)
    if found is None:
        raise ValueError(f"no URL: {str(value)[:80]!r}")
    return found


PROCESSORS: Final[Mapping[str, Processor]] = {
    "strip": lambda value, url: str(value).strip(),
    "collapse": lambda value, url: " ".join(str(value).split()),
    "lower": lambda value, url: str(value).lower(),
    "upper": lambda value, url: str(value).upper(),
    "text": lambda value, url: " ".join(unescape(remove_tags(str(value))).split()),
    "int": lambda value, url: int(_float(value, url)),
    "float": _float,
    "date": _date,
    "url": _url,
}
"""``text`` takes tags out of what was selected with them; ``url`` makes an address whole."""
