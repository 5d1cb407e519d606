"""A cookie jar for spiders that look into cookies themselves, or send them by hand: Python's own, told of our requests
and responses. The jar of a crawl is another one, which no spider has to keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from email.message import Message
from http.cookiejar import Cookie, CookieJar, CookiePolicy, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request as AskedUrl

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.page.response import Response


class OwnCookieJar:
    """Keeps the cookies that responses set, and adds them to requests. ``jar`` is Python's own."""

    def __init__(self, policy: CookiePolicy | None = None, check_expired_frequency: int = 10_000) -> None:
        """``check_expired_frequency``: accepted, and without effect, for a jar drops what has expired at each use."""
        # Without it a host's own cookies would go to all hosts below it.
        strict = DefaultCookiePolicy(strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain)
        self.jar = CookieJar(policy or strict)

    def extract_cookies(self, response: Response, request: Request) -> None:
        """Takes the cookies that a response to a request sets, where it may set them."""
        self.jar.extract_cookies(_CookieBearer(response), _asked(request))  # type: ignore[arg-type]

    def make_cookies(self, response: Response, request: Request) -> list[Cookie]:
        """Returns the cookies that a response sets, without taking them."""
        return list(self.jar.make_cookies(_CookieBearer(response), _asked(request)))  # type: ignore[arg-type]

    def add_cookie_header(self, request: Request) -> None:
        """Gives a request the cookies that are for it."""
        asked = _asked(request)
        self.jar.add_cookie_header(asked)
        if cookies := asked.get_header("Cookie"):
            request.headers["Cookie"] = cookies

    def set_cookie(self, cookie: Cookie) -> None:
        """Takes a cookie, whoever sets it."""
        self.jar.set_cookie(cookie)

    def set_cookie_if_ok(self, cookie: Cookie, request: Request) -> None:
        """Takes a cookie if the policy lets a response to this request set it."""
        self.jar.set_cookie_if_ok(cookie, _asked(request))

    def set_policy(self, policy: CookiePolicy) -> None:
        """Lets another policy say which cookies are taken and given."""
        self.jar.set_policy(policy)

    def clear(self, domain: str | None = None, path: str | None = None, name: str | None = None) -> None:
        """Forgets all cookies, or those of a domain, of a path there, or the one of a name there. Raises KeyError."""
        self.jar.clear(*(part for part in (domain, path, name) if part is not None))

    def clear_session_cookies(self) -> None:
        """Forgets the cookies that are to end with a browser's session."""
        self.jar.clear_session_cookies()

    @property
    def _cookies(self) -> Any:
        """The cookies by domain, path and name: people look into it, for there is no other way to theirs."""
        return self.jar._cookies  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[Cookie]:
        return iter(self.jar)

    def __len__(self) -> int:
        return len(self.jar)


class _CookieBearer:
    """A response as Python's jar reads one."""

    def __init__(self, response: Response) -> None:
        self._response = response

    def info(self) -> Message:
        message = Message()
        for name in ("Set-Cookie", "Set-Cookie2"):
            for value in self._response.headers.getlist(name):
                message[name] = str(value)
        return message


def _asked(request: Request) -> AskedUrl:
    """Returns a request as Python's jar reads one."""
    fields = {"Cookie": str(cookie)} if (cookie := request.headers.get("Cookie")) else {}
    host = urlsplit(request.url).hostname or ""
    made = AskedUrl(request.url, headers=fields, origin_req_host=host)
    made.unverifiable = bool(request.meta.get("is_unverifiable", False))
    return made
