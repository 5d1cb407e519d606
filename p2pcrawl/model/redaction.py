"""Takes out of texts what faces and logs leave out: passwords in URLs and headers, wherever a text holds them."""

from __future__ import annotations

import re

_userinfo = re.compile(r"(?<![\w+.-])(https?://)[^\s/?#\"'<>\\]{1,2000}@", re.IGNORECASE).sub
_named = re.compile(
    r"\b((?:proxy-)?authorization|http_?pass(?:word)?|cookie)(\\?[\"']?\s{0,9}[:=]\s{0,9}\\?[\"']?)"
    r"(?:(?:basic|bearer|digest|token)\s{1,9})?(?!null\b|true\b|false\b|[\[{])[^\s\"'\\,}\])]+",
    re.IGNORECASE,
).sub


_password = re.compile(
    r"(?<![\w+.-])([a-z][a-z0-9+.-]{0,30}://[^\s/?#\"'<>\\@:]{0,1000}):[^\s/?#\"'<>\\]{1,2000}@", re.IGNORECASE
).sub
_in_query = re.compile(r"([?&][\w.-]{0,60}(?:password|passwd|secret|token)=)[^\s&#\"'<>]{1,2000}", re.IGNORECASE).sub


def redacted(text: str) -> str:
    """Replaces by ``***`` the user and password of URLs in a text, the passwords of other addresses and in their
    queries, and the values of secret headers and settings.
    """
    if "://" in text:
        if "@" in text:
            text = _password(r"\1:***@", _userinfo(r"\1***@", text))
        if "=" in text:
            text = _in_query(r"\1***", text)
    lowered = text.lower()
    if "authorization" in lowered or "http_pass" in lowered or "httppass" in lowered or "cookie" in lowered:
        text = _named(r"\1\2***", text)
    return text
