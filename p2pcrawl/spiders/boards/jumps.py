"""Jump links: links to a target by way of a search engine or a tracker, which counts them.

A pattern names the host, the path as it begins, and the parameter with the target: ``out.example/go?u``. A host may be
``*.example`` (all below it) or ``google.*`` (whatever comes after). Without a parameter the target is not in the URL
(``t.co``): the link has to be followed to learn it. A path that ends in ``/*`` has the target behind it.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.page.links import normalise

COMMON: Final = (
    "google.*/url?q,url",
    "www.google.*/url?q,url",
    "news.google.*/news/url?url",
    "www.bing.com/ck/a?u",
    "duckduckgo.com/l/?uddg",
    "html.duckduckgo.com/l/?uddg",
    "r.search.yahoo.com/*RU=",
    "www.baidu.com/link",
    "yandex.*/clck/jsredir?url",
    "l.facebook.com/l.php?u",
    "lm.facebook.com/l.php?u",
    "l.instagram.com/?u",
    "out.reddit.com/?url",
    "www.youtube.com/redirect?q",
    "www.linkedin.com/redir/redirect?url",
    "vk.com/away.php?to",
    "t.umblr.com/redirect?z",
    "slack-redir.net/link?url",
    "steamcommunity.com/linkfilter/?url,u",
    "web.archive.org/web/*",
    "click.linksynergy.com/?murl",
    "go.redirectingat.com/?url",
    "www.awin1.com/cread.php?ued,p",
    "t.co",
    "bit.ly",
    "buff.ly",
    "dlvr.it",
    "goo.gl",
    "ift.tt",
    "is.gd",
    "lnkd.in",
    "ow.ly",
    "tinyurl.com",
    "trib.al",
)
"""What ``common`` stands for."""
ROUNDS_MAX: Final = 5
"""Targets that are jump links themselves are looked through so often."""

_pattern = re.compile(r"(?P<host>[\w.*-]+)(?P<path>/[^?]*)?(?:\?(?P<names>[\w.,-]+))?\Z").match
_absolute = re.compile(r"https?:/{1,2}[^/]", re.IGNORECASE).match
_inner = re.compile(r"https?:/{1,2}[^/].*", re.IGNORECASE | re.DOTALL).search


@dataclass(frozen=True, slots=True)
class _Jump:
    host: re.Pattern[str]
    path: str
    names: tuple[str, ...]
    behind: str | None
    """What stands before a target in the path; None: it is not in the path."""

    @property
    def tells(self) -> bool:
        """True if the target is in the URL."""
        return bool(self.names) or self.behind is not None


class Jumps:
    """The jump links that a crawl knows."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Raises ConfigurationError for a pattern that is none."""
        self._jumps = [_jump(each) for given in patterns for each in (COMMON if given == "common" else (given,))]

    def __bool__(self) -> bool:
        return bool(self._jumps)

    def target(self, url: str) -> str:
        """Returns the target of a link where it is in its URL, else the URL itself."""
        for _ in range(ROUNDS_MAX):
            found = self._target(url)
            if found is None:
                break
            url = found
        return url

    def hides(self, url: str) -> bool:
        """Tells whether a link has to be followed to learn its target."""
        return self._found(url) is not None

    def _target(self, url: str) -> str | None:
        jump = self._found(url)
        if jump is None or not jump.tells:
            return None
        parts = urlsplit(url)
        if jump.behind is not None:
            behind = url.partition(jump.path)[2]
            if jump.behind:
                behind = behind.partition(jump.behind)[2]
            inner = _inner(unquote(behind)) or _inner(behind)
            return normalise(inner[0]) if inner is not None else None
        said = dict(parse_qsl(parts.query, keep_blank_values=True))
        return next((found for name in jump.names if (found := _read(said.get(name, "")))), None)

    def _found(self, url: str) -> _Jump | None:
        try:
            parts = urlsplit(url)
            host = (parts.hostname or "").lower()
        except ValueError:
            return None
        for jump in self._jumps:
            if jump.host.match(host) and (parts.path or "/").startswith(jump.path):
                return jump
        return None


def _jump(pattern: str) -> _Jump:
    read = _pattern(pattern.strip())
    if read is None:
        raise ConfigurationError(
            f"{pattern!r} is no jump link: write host/path?parameter, as in out.example/go?u, or the host alone"
        )
    host, path, names = read["host"].lower(), read["path"] or "/", read["names"]
    path, starred, behind = path.partition("*")
    written = re.escape(host).replace(r"\*\.", r"(?:[\w-]+\.)*", 1) if host.startswith("*.") else re.escape(host)
    written = re.sub(r"\\\.\\\*\Z", r"\\.[a-z]{2,3}(?:\\.[a-z]{2})?", written)
    return _Jump(
        re.compile(rf"{written}\Z"), path, tuple(names.split(",")) if names else (), behind if starred else None
    )


def _read(value: str) -> str | None:
    """Returns the URL that a parameter holds: as it is, escaped once more, or in base64 behind two characters."""
    for each in (value, unquote(value)):
        if _absolute(each):
            return normalise(each)
    for each in (value, value[2:]):
        try:
            decoded = urlsafe_b64decode(each + "=" * (-len(each) % 4)).decode()
        except ValueError:
            continue
        if _absolute(decoded):
            return normalise(decoded)
    return None
