"""The encodings of the web: the labels of the WHATWG Encoding Standard, and nothing else.

Pages name what they are written in, and Python knows codecs under such names that are no encodings of text at all, or
take quadratic time (``punycode``). So what a page names is looked up here, and only what browsers know is read by a
codec. Where Python's table of a single-byte encoding has holes or differs, the standard's is taken; reading those
cannot fail then.
"""

from __future__ import annotations

import codecs
from functools import cache

REPLACEMENT = "replacement"
"""Encodings that are not read, since what they hide is dangerous: such a page is one U+FFFD."""
USER_DEFINED = "x-user-defined"
BROKEN_MAX = 100_000
"""Characters that cannot be read before a text in UTF-16 ends: replacing each costs more than reading does."""
_PIECE = 65_536

_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e"
    " iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7"
    " iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8"
    " iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1"
    " iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"
    " windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601"
    " windows-949",
    REPLACEMENT: "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    USER_DEFINED: "x-user-defined",
}
"""Python's name of each encoding (the two kinds of Hebrew are written with the same letters), and the web's labels."""
_BY_LABEL = {label: name for name, labels in _LABELS.items() for label in labels.split()}

_OTHER_LETTERS = {
    "koi8-u": {0xAE: "\u045e", 0xBE: "\u040e"},
    "cp1255": {0xCA: "\u05ba"},
}
_SINGLE_BYTES = ("cp", "iso8859", "koi8", "mac")
_MORE_BYTES = ("cp932", "cp949", "cp950", "cp1361", "cp65001")
_CONTROLS = range(0x80, 0xA0)


def encoding_named(label: str) -> str | None:
    """Python's name of the encoding that browsers know under this label; None when they know none."""
    return _BY_LABEL.get(label.strip("\t\n\f\r ").lower()) if label.isascii() else None


def read(body: bytes, encoding: str) -> str:
    """Reads bytes as text, in linear time. What cannot be read is U+FFFD.

    What is neither an encoding of the web nor one of a byte for each letter, as ``cp852`` is, is read as cp1252.

    Text in UTF-16 that is broken in 100,000 places ends there.
    """
    if encoding == "utf-8":
        return body.decode("utf-8-sig" if body.startswith(codecs.BOM_UTF8) else "utf-8", "replace")
    if encoding in ("utf-16-le", "utf-16-be"):
        return _read_utf16(body, encoding).removeprefix("\ufeff")
    if encoding == REPLACEMENT:
        return "\ufffd" if body else ""
    table = _table(encoding if encoding in _LABELS or _has_single_bytes(encoding) else "cp1252")
    if table:
        return codecs.charmap_decode(body, "strict", table)[0]
    return body.decode(encoding, "replace")


def _read_utf16(body: bytes, encoding: str) -> str:
    try:
        return body.decode(encoding)
    except UnicodeDecodeError:
        pass
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    pieces, broken = [], 0
    for start in range(0, len(body), _PIECE):
        piece = decoder.decode(body[start : start + _PIECE], start + _PIECE >= len(body))
        pieces.append(piece)
        broken += piece.count("\ufffd")
        if broken > BROKEN_MAX:
            break
    return "".join(pieces)


def _has_single_bytes(encoding: str) -> bool:
    return encoding.startswith(_SINGLE_BYTES) and encoding not in _MORE_BYTES


@cache
def _table(encoding: str) -> str:
    """Returns the letters of the 256 bytes; "" for an encoding that takes more than one byte for some."""
    if encoding == USER_DEFINED:
        return "".join([chr(byte) if byte < 0x80 else chr(0xF700 + byte) for byte in range(256)])
    if not _has_single_bytes(encoding):
        return ""
    letters = []
    for byte in range(256):
        letter = bytes([byte]).decode(encoding, "replace")
        if letter == "\ufffd" and byte in _CONTROLS:
            letter = chr(byte)
        letters.append(_OTHER_LETTERS.get(encoding, {}).get(byte, letter))
    return "".join(letters)
