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


@lru_cache(maxsize=256)
def is_utf8(encoding: str) -> bool:
    """Tells whether queries are written in UTF-8 for this encoding: for all of Unicode's, and unknown ones."""
    try:
        return codecs.lookup(encoding).name.startswith(("utf-8", "utf-16", "utf-32", "utf-7"))
    except LookupError:
        return True
