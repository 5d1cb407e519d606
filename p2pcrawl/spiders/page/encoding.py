"""The encoding of a body, found as browsers do.

A byte-order mark wins, then the charset of Content-Type, then what the first 4,096 bytes declare. Without any of them:
UTF-8 if it is UTF-8, else the likeliest of the web's legacy encodings. Names are those that browsers know
(:mod:`p2pcrawl.spiders.page.charsets`); another one is as none.
"""

from __future__ import annotations

import re
from functools import lru_cache

import charset_normalizer

from p2pcrawl.spiders.page.charsets import USER_DEFINED, encoding_named

PRESCAN_SIZE = 4096
GUESS_SIZE = 8192
_HEADER_SIZE = 4096
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_MARK_STARTS = tuple(mark for mark, _ in _MARKS)

# In a quoted value nothing is another parameter.
_parameter = re.compile(r";[ \t]*+([^\s;=]++)=(?:\"((?:[^\"\\]|\\.)*+)\"|([^;,\s]*+))", re.DOTALL).finditer
_declaration = re.compile(
    rb"<!--.*?(?:-->|\Z)"
    rb"|<meta(?=[\s/])(?P<meta>(?:[^<>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)"
    rb"|<\?xml\s(?P<xml>[^<>]*+)"
    rb"|(?P<body><body\b)",
    re.IGNORECASE | re.DOTALL,
).finditer
_attribute = re.compile(rb"([^\s/>=\"'][^\s/>=]*+)\s*+=\s*+(?:\"([^\"]*+)\"?|'([^']*+)'?|([^\s>]*+))").finditer
_in_content = re.compile(rb"charset\s*=\s*[\"']?\s*([^\s;,\"']+)", re.IGNORECASE).search
_pragma = re.compile(rb"content[-_ ]?type", re.IGNORECASE).search
_GUESSED = {
    "cp1252": "cp1252",
    "cp1251": "cp1251",
    "cp1250": "cp1250",
    "shift_jis": "cp932",
    "euc_jp": "euc_jp",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "koi8_r": "koi8-r",
    "iso8859_2": "iso8859-2",
    "cp1253": "cp1253",
    "cp1254": "cp1254",
    "cp1255": "cp1255",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp874": "cp874",
}
"""What is guessed at, and what browsers take it for."""
_LEGACY = list(_GUESSED)


def encoding_of(body: bytes, content_type: str = "") -> str:
    """Returns the Python name of the encoding. Never raises; text that cannot be placed is ``cp1252``, as in
    browsers.
    """
    if body.startswith(_MARK_STARTS):
        return next(name for mark, name in _MARKS if body.startswith(mark))
    return charset_of(content_type) or _declared(body[:PRESCAN_SIZE]) or _guessed(body)


@lru_cache(maxsize=256)
def charset_of(content_type: str) -> str | None:
    """Returns the encoding that a Content-Type names, if browsers know it."""
    for found in _parameter(content_type[:_HEADER_SIZE]):
        if found[1].lower() == "charset":
            return encoding_named(found[2] if found[2] is not None else found[3])
    return None


def _declared(head: bytes) -> str | None:
    for found in _declaration(head):
        if found["body"] is not None:
            return None
        if found["meta"] is not None:
            label = _in_meta(found["meta"]) if b"charset" in found["meta"].lower() else b""
        else:
            label = _values(found["xml"] or b"").get(b"encoding", b"")
        encoding = encoding_named(label.decode("latin-1")) if label else None
        if encoding is None:
            continue
        if encoding.startswith("utf-16"):
            # The declaration was read as ASCII, so the page cannot be UTF-16: the standard says UTF-8.
            return "utf-8"
        return "cp1252" if encoding == USER_DEFINED else encoding
    return None


def _in_meta(attributes: bytes) -> bytes:
    """Returns the label in ``charset``; or that in ``content``, beside ``http-equiv=content-type`` however it is
    spelt.
    """
    values = _values(attributes)
    if label := values.get(b"charset", b"").strip():
        return label
    pragma = next((v for name in (b"http-equiv", b"http_equiv", b"httpequiv") if (v := values.get(name))), b"")
    content = _in_content(values.get(b"content", b"")) if _pragma(pragma) else None
    return content[1] if content is not None else b""


def _values(attributes: bytes) -> dict[bytes, bytes]:
    values: dict[bytes, bytes] = {}
    for found in _attribute(attributes):
        value = next((part for part in found.groups()[1:] if part is not None), b"")
        values.setdefault(found[1].lower(), value)
    return values


def _guessed(body: bytes) -> str:
    try:
        body.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        pass
    start = next((at for at, byte in enumerate(body[:GUESS_SIZE]) if byte >= 0x80), 0)
    sample = body[: GUESS_SIZE if start < GUESS_SIZE else 0] or body[:GUESS_SIZE]
    if b"\x00" in sample:
        return "cp1252"
    best = charset_normalizer.from_bytes(sample, cp_isolation=_LEGACY, steps=5, chunk_size=512).best()
    return _GUESSED.get(best.encoding, "cp1252") if best else "cp1252"
