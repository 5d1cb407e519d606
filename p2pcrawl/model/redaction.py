"""Takes out of texts what faces and logs leave out: passwords in URLs and headers, wherever a text holds them."""

from __future__ import annotations

import re

_userinfo = re.compile(r"(?<![\w+.-])(https?://)[^\s/?#\"'<>\\]{1,2000}@", re.IGNORECASE).sub
_named = re.compile(
    r"\b((?:proxy-)?authorization|http_?pass(?:word)?|cookie)(\\?[\"']?\s{0,9}[:=]\s{0,9}\\?[\"']?)"
    r"(?:(?:basic|bearer|digest|token)\s{1,9})?(?!null\b|true\b|false\b|[\[{])[^\s\"'\\,}\])]+",
    re.IGNORECASE,
).sub


def redacted(text: str) -> str:
    """Replaces by ``***`` the user and password of URLs in a text, and the values of secret headers and settings."""
    if "@" in text and "://" in text:
        text = _userinfo(r"\1***@", text)
    lowered = text.lower()
    if "authorization" in lowered or "http_pass" in lowered or "httppass" in lowered or "cookie" in lowered:
        text = _named(r"\1\2***", text)
    return text
