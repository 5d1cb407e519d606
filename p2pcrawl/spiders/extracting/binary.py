"""Bodies that are no text, whatever their host calls them: a picture or a PDF that is served as HTML."""

from __future__ import annotations

import re
from typing import Final

LOOK_CHARS: Final = 1_445
"""So much of a body is looked at: as many as browsers look at."""
UNREADABLE_PART: Final = 0.1
_control = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]").search
_markup = re.compile(r"\s*<[!?a-zA-Z/]").match
_MAGIC: Final = ("%PDF-", "PK\x03\x04", "\x1f\ufffd", "GIF8", "\ufffdPNG")


def is_binary(text: str) -> bool:
    """Tells whether a body, as it was decoded, is none that a page is made of. Where it begins as markup does, it is
    a page, whatever stands in it.
    """
    start = text[:LOOK_CHARS].lstrip("\ufeff")
    if _markup(start):
        return False
    unreadable = start.count("\ufffd") > UNREADABLE_PART * len(start)
    return start.startswith(_MAGIC) or unreadable or _control(start) is not None
