"""Text in the query of a URL, which browsers send in the encoding of the page that it stands on.

A path is always sent in UTF-8, a query is not: on a page in windows-1251 ``?q=поиск`` means other bytes than on one in
UTF-8, and its server knows only these.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from urllib.parse import quote

_no_ascii = re.compile(r"[^\x00-\x7f]+").sub


def with_query_in(url: str, encoding: str) -> str:
    """Returns the URL with what is not ASCII in its query escaped in this encoding; characters that it does not have
    as the references of HTML, as browsers do.

    An encoding that nobody knows is taken for UTF-8.
    """
    if url.isascii():
        return url
    head, mark, rest = url.partition("?")
    query, sharp, fragment = rest.partition("#")
    if "#" in head or not mark or query.isascii() or is_utf8(encoding):
        return url

    def escaped(found: re.Match[str]) -> str:
        return quote(found[0].encode(encoding, "xmlcharrefreplace"), safe="")

    return f"{head}?{_no_ascii(escaped, query)}{sharp}{fragment}"


def escaped_url(url: str, encoding: str = "utf-8") -> str:
    """Returns a URL without spaces, line ends and what is not ASCII: a path is escaped in UTF-8, a query in this
    encoding. The host is left to whoever reads the URL.
    """
    url = with_query_in(_line_ends("", url.strip(_BLANK)), encoding)
    scheme, separator, rest = url.partition("://")
    found = _after_host(rest)
    place = found.start() if found is not None else len(rest)
    tail = rest[place:].replace(" ", "%20")
    return f"{scheme}{separator}{rest[:place]}{tail if tail.isascii() else _no_ascii(_in_utf8, tail)}"


_BLANK = "".join(map(chr, range(33)))
_line_ends = re.compile("[\t\r\n]").sub
_after_host = re.compile("[/?#]").search


def _in_utf8(found: re.Match[str]) -> str:
    # Halves of characters are replaced, as browsers do.
    return quote(found[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), safe="")


@lru_cache(maxsize=256)
def is_utf8(encoding: str) -> bool:
    """Tells whether queries are written in UTF-8 for this encoding: for all of Unicode's, and unknown ones."""
    try:
        return codecs.lookup(encoding).name.startswith(("utf-8", "utf-16", "utf-32", "utf-7"))
    except LookupError:
        return True
