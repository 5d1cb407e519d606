"""A digest of what a page says to whoever reads it: equal as long as that stays the same.

Many servers write something else into each answer that nobody reads: the token of a form, the address of a script with
its build, a comment that names the machine and the moment. So of an HTML page only its title, its text and the targets
of its links count; scripts, styles, templates, comments, hidden fields and attributes do not. Of the text, what is in
``<time>``, times to the second and ages ("5 minutes ago") are left out; of links, what looks like the token of a
session or the mark of a campaign. A time to the minute, a date, a price count: they may be the news.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.response import Response

SIZE: Final = 8
_UNREAD: Final = ["script", "style", "template", "noscript", "time", "iframe", "svg", "object", "head"]
_AGES = re.compile(
    r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|\b(?:\d+|an?|just|few)\s+(?:seconds?|minutes?|mins?|hours?|days?|weeks?)\s+ago\b|\bjust now\b"
    r"|\b\d+(?:[.,]\d+)?\s?(?:ms|milliseconds|seconds)\b",
    re.IGNORECASE,
)
_TOKEN_NAMES = re.compile(
    r"(?:utm_\w+|\w*sess(?:ion)?(?:id)?|s?id_?token|sid|phpsessid|jsessionid|csrf\w*|xsrf\w*|\w*token|nonce|_|ts|"
    r"timestamp|cachebuster|cb|fbclid|gclid|rnd|rand(?:om)?)",
    re.IGNORECASE,
)
_TOKEN_VALUE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+/-]{24,}={0,2}")


@limited
def content_digest(response: Response) -> bytes:
    """Digests what a page says. Of what is no HTML every byte counts."""
    if not response.is_html:
        return blake2b(response.body, digest_size=SIZE).digest()
    tree = LexborHTMLParser(response.text)
    title = tree.css_first("title")
    said = [title.text() if title is not None else ""]
    tree.strip_tags(_UNREAD)
    if tree.body is not None:
        said.append(_AGES.sub("", tree.body.text(separator=" ")))
        said += [_lasting(node.attributes.get("href") or "") for node in tree.body.css("a[href]")]
    words = (" ".join(part.split()) for part in said)
    return blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def _lasting(href: str) -> str:
    """Returns the target of a link without what is another one in each answer."""
    path, _, rest = href.partition("?")
    path = path.partition(";jsessionid")[0]
    query = rest.partition("#")[0]
    if not query:
        return path.partition("#")[0]
    return f"{path}?{'&'.join(part for part in query.split('&') if not _is_token(part))}"


def _is_token(part: str) -> bool:
    name, _, value = part.partition("=")
    return bool(_TOKEN_NAMES.fullmatch(name) or _TOKEN_VALUE.fullmatch(value))
