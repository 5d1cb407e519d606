"""The size of a text as a reader feels it: in letters of an alphabet, whichever script it is in."""

from __future__ import annotations

import re
from typing import Final

_dense = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]").findall
DENSE_WORTH: Final = 2.5
"""Letters that one sign of Chinese, Japanese or Korean is worth."""


def letters_in(text: str) -> int:
    """Returns the size of a text, its white space around left out."""
    text = text.strip()
    size = len(text)
    return size if text.isascii() else size + int(len(_dense(text)) * (DENSE_WORTH - 1))
