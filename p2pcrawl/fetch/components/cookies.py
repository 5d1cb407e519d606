"""Cookies, as browsers keep them, for one job and in bounded memory.

After RFC 6265 and its successor (6265bis): domain, path, Secure, Max-Age and Expires decide where a cookie goes. One
for a public suffix (``co.uk``, ``github.io``) is refused, and so are names that promise what the line does not keep
(``__Secure-``, ``__Host-``).
"""

from __future__ import annotations

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.fetch.components.public_suffix import is_public_suffix
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.url import host_of

log = logging.getLogger(__name__)

PER_HOST_MAX: Final = 50
TOTAL_MAX: Final = 3_000
"""Of a jar."""
ALL_MAX: Final = 30_000
"""Of all jars of a job."""
SIZE_MAX: Final = 4_096
"""Bytes of name and value together."""
_HEADER_MAX: Final = 8_192
_PATH_MAX: Final = 1_024
"""Characters; a longer path is as none, as in browsers."""
_PER_ANSWER_MAX: Final = 50
_LABELS_MAX: Final = 10
_unwritable: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]").search
"""What would end a header, and bytes that are no UTF-8, which a later request could not be written with."""
_age: Final = re.compile(r"-?[0-9]+\Z").match
_AGE_MAX_S: Final = 400 * 86_400


@dataclass(frozen=True, slots=True)
class Cookie:
    """One cookie; ``expires_at`` in seconds since the epoch, None for the length of the job."""

    name: str
    value: str
    path: str
    host_only: bool
    secure: bool
    expires_at: float | None


class CookieJar:
    """Cookies by the domain they belong to. The domain that was used longest ago goes first."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._domains: OrderedDict[str, OrderedDict[tuple[str, str], Cookie]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def header(self, url: str) -> str:
        """Returns the value of a Cookie header for ``url``; "" when no cookie matches."""
        if not self._domains:
            return ""
        host = host_of(url)
        path, secure = _path_of(url), url.startswith("https:")
        now = self._clock()
        found: list[Cookie] = []
        for domain in _domains_of(host):
            cookies = self._domains.get(domain)
            if cookies is None:
                continue
            self._domains.move_to_end(domain)
            for key, cookie in list(cookies.items()):
                if cookie.expires_at is not None and cookie.expires_at <= now:
                    self._remove(domain, key)
                elif (
                    (secure or not cookie.secure)
                    and (domain == host or not cookie.host_only)
                    and _path_matches(path, cookie.path)
                ):
                    found.append(cookie)
        if len(found) > 1:
            found.sort(key=lambda cookie: -len(cookie.path))
        return _joined(found)

    def store(self, url: str, lines: tuple[str, ...]) -> None:
        """Takes the Set-Cookie lines of an answer from ``url``; what is malformed or foreign is left."""
        for line in lines[:_PER_ANSWER_MAX]:
            self._store(url, line)

    def put(
        self, url: str, name: str, value: str, *, domain: str = "", path: str = "/", secure: bool | None = None
    ) -> bool:
        """Sets a cookie for the host of ``url``, or a domain that it is in, and the paths below ``path``; what was set
        for https never goes over http, unless ``secure`` says so. Returns whether a browser would keep it.
        """
        host, domain = host_of(url), domain.removeprefix(".").lower()
        if domain and not (domain == host or _may_set(host, domain)):
            return False
        if not _writable(name, value) or len(path) > _PATH_MAX:
            return False
        if secure is None:
            secure = url.startswith("https:")
        # A dot before it or not, as browsers have it: whoever names a domain means all that is below it.
        only = not domain or _is_ip(host) or is_public_suffix(domain)
        path = path if path.startswith("/") else "/"
        self._keep(domain or host, Cookie(name, value, path, only, secure, None))
        return True

    def _store(self, url: str, line: str) -> None:
        pair, *fields = line[:_HEADER_MAX].split(";")
        name, equals, value = pair.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name or not _writable(name, value):
            return
        host = host_of(url)
        attributes = {}
        for field in fields:
            key, _, text = field.partition("=")
            attributes[key.strip().lower()] = text.strip()
        domain = attributes.get("domain", "").removeprefix(".").lower()
        if domain and not _may_set(host, domain):
            return
        if domain == host and is_public_suffix(domain):
            domain = ""
        path = attributes.get("path", "")
        secure = "secure" in attributes
        encrypted = url.startswith("https:")
        if (secure and not encrypted) or not _keeps_promise(name, secure, attributes):
            return
        if not path.startswith("/") or len(path) > _PATH_MAX:
            path = _default_path(url)
        if not encrypted and self._hides_secure(host, name, path):
            return
        cookie = Cookie(name, value, path, not domain or _is_ip(host), secure, self._expiry(attributes))
        self._keep(domain or host, cookie)

    def _hides_secure(self, host: str, name: str, path: str) -> bool:
        """Tells whether a cookie that came in the clear would stand before one that came encrypted."""
        return any(
            cookie.secure and cookie.name == name and _path_matches(path, cookie.path)
            for domain in _domains_of(host)
            for cookie in self._domains.get(domain, {}).values()
        )

    def _expiry(self, attributes: dict[str, str]) -> float | None:
        """Returns when a cookie ends. Max-Age wins over Expires; one that makes no sense is as none."""
        age = attributes.get("max-age", "")
        if _age(age):
            return self._clock() + max(-1, min(int(age[:12]), _AGE_MAX_S))
        expires = attributes.get("expires", "")
        if not expires or len(expires) > 100:
            return None
        try:
            date = parsedate_to_datetime(expires.replace("-", " "))
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        try:
            return (date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None

    def _keep(self, domain: str, cookie: Cookie) -> None:
        key = (cookie.name, cookie.path)
        cookies = self._domains.get(domain)
        if cookie.expires_at is not None and cookie.expires_at <= self._clock():
            if cookies is not None and key in cookies:
                self._remove(domain, key)
            return
        if cookies is None:
            cookies = self._domains[domain] = OrderedDict()
        self._domains.move_to_end(domain)
        if cookies.pop(key, None) is None:
            self._count += 1
        cookies[key] = cookie
        if len(cookies) > PER_HOST_MAX:
            self._remove(domain, next(iter(cookies)))
        while self._count > TOTAL_MAX:
            oldest = next(iter(self._domains))
            self._remove(oldest, next(iter(self._domains[oldest])))

    def _remove(self, domain: str, key: tuple[str, str]) -> None:
        cookies = self._domains[domain]
        del cookies[key]
        self._count -= 1
        if not cookies:
            del self._domains[domain]


class Cookies(Component):
    """Keeps what hosts set and sends it back.

    A request's ``cookies`` and Cookie header join the jar. ``meta["cookiejar"]`` names a jar of its own,
    ``meta["dont_merge_cookies"]`` leaves the request and its answer alone.
    """

    order = 700

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._jars: OrderedDict[object, CookieJar] = OrderedDict({None: CookieJar(clock)})
        self._told = False

    def process_request(self, request: Request) -> None:
        if request.meta and request.meta.get("dont_merge_cookies"):
            if request.cookies:
                own = CookieJar(self._clock)
                self._put(request, own)
                if header := own.header(request.url):
                    request.headers.setdefault("Cookie", header)
            return
        jar = self._jar(request.meta)
        if request.headers and "Cookie" in request.headers:
            for line in request.headers.getlist("Cookie"):
                for pair in line.split(";"):
                    key, equals, value = pair.partition("=")
                    if equals:
                        jar.put(request.url, key.strip(), value.strip())
            del request.headers["Cookie"]
        if request.cookies:
            # After its header, which the same cookies take the place of.
            self._put(request, jar)
        header = jar.header(request.url) if len(jar) else ""
        if header:
            request.headers["Cookie"] = header

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        if answer.set_cookies and not (request.meta and request.meta.get("dont_merge_cookies")):
            self._jar(request.meta).store(request.url, answer.set_cookies)
            self._bound()
        return answer

    def _put(self, request: Request, jar: CookieJar) -> None:
        cookies = request.cookies
        if isinstance(cookies, dict):
            for name, value in cookies.items():
                self._tell(jar.put(request.url, str(name), str(value)), request, name)
            return
        for cookie in cookies:
            kept = jar.put(
                request.url,
                cookie["name"],
                cookie["value"],
                domain=cookie.get("domain", ""),
                path=cookie.get("path", "/"),
                secure=cookie.get("secure"),
            )
            self._tell(kept, request, cookie["name"], cookie.get("domain", ""))

    def _tell(self, kept: bool, request: Request, name: str, domain: str = "") -> None:
        if kept or self._told:
            return
        self._told = True
        place = f" for {domain}" if domain else ""
        log.warning(
            "cookie %.80r%s of a request to %s is left out: browsers would not keep it (others like it are not told)",
            name,
            place,
            host_of(request.url),
        )

    def _bound(self) -> None:
        """Drops the jar that was used longest ago while there are too many cookies in all of them."""
        if len(self._jars) == 1:
            return
        count = sum(map(len, self._jars.values()))
        while count > ALL_MAX and len(self._jars) > 2:
            oldest = next(key for key in self._jars if key is not None)
            count -= len(self._jars.pop(oldest))

    def _jar(self, meta: Mapping[str, Any]) -> CookieJar:
        key = meta.get("cookiejar")
        if key is None and (session := meta.get("session")) is not None:
            key = ("session", str(session))
        jar = self._jars.get(key)
        if jar is None:
            jar = self._jars[key] = CookieJar(self._clock)
            if len(self._jars) > _JARS_MAX:
                for oldest in self._jars:
                    if oldest is not None:
                        del self._jars[oldest]
                        break
        elif key is not None:
            self._jars.move_to_end(key)
        return jar


_JARS_MAX: Final = 1_000


def _joined(cookies: list[Cookie]) -> str:
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)


def _writable(name: str, value: str) -> bool:
    """Tells whether a cookie holds nothing that would end the header or the pair, and is not too long."""
    text = name + value
    return len(text) <= SIZE_MAX and ";" not in text and "=" not in name and _unwritable(text) is None


def _may_set(host: str, domain: str) -> bool:
    """Tells whether an answer of ``host`` may set cookies for all of ``domain``."""
    if domain == host:
        return True
    return host.endswith("." + domain) and not _is_ip(host) and not is_public_suffix(domain)


def _keeps_promise(name: str, secure: bool, attributes: dict[str, str]) -> bool:
    """Tells whether a cookie is what the beginning of its name says."""
    start = name[:9].lower()
    if start == "__secure-":
        return secure
    if start.startswith("__host-"):
        return secure and attributes.get("path") == "/" and not attributes.get("domain")
    return True


def _domains_of(host: str) -> list[str]:
    """Returns ``host`` and the domains above it, down to two labels."""
    if _is_ip(host):
        return [host]
    labels = host.split(".")
    first = max(0, len(labels) - _LABELS_MAX)
    return [host, *(".".join(labels[i:]) for i in range(max(1, first), len(labels) - 1))]


def _is_ip(host: str) -> bool:
    return host.startswith("[") or host.replace(".", "").isdigit()


def _path_of(url: str) -> str:
    try:
        return urlsplit(url).path or "/"
    except ValueError:
        return "/"


def _default_path(url: str) -> str:
    return _path_of(url).rpartition("/")[0] or "/"


def _path_matches(path: str, of_cookie: str) -> bool:
    return path.startswith(of_cookie) and (
        len(path) == len(of_cookie) or of_cookie.endswith("/") or path[len(of_cookie)] == "/"
    )


class CookieTalk(Component):
    """Logs the cookies that are sent and received, at level DEBUG."""

    order = 701

    def process_request(self, request: Request) -> None:
        if "Cookie" in request.headers:
            log.debug("cookies sent to %s: %s", request, request.headers["Cookie"])

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        if answer.set_cookies:
            log.debug("cookies received from %s: %s", request, "; ".join(answer.set_cookies))
        return answer
