"""Built-in downloader middlewares as classes that people subclass: each does what the built-in component does.

They are made and called as people's middlewares are. To put a subclass in the place of the built-in component, leave
that out: ``{"...useragent.UserAgentMiddleware": None, "project.Own": 500}``.
"""

from __future__ import annotations

from typing import Any, Self

from p2pcrawl.fetch.components.chain import Component, Redirected
from p2pcrawl.fetch.components.cookies import Cookies
from p2pcrawl.fetch.components.meta_refresh import MetaRefresh
from p2pcrawl.fetch.components.redirect import Redirect
from p2pcrawl.model.choosing.reading import Readings
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError, NotConfigured
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.page.response import Response


class UserAgentMiddleware:
    """Gives requests without a User-Agent that of the settings, or the spider's ``user_agent``."""

    def __init__(self, user_agent: str = "p2pcrawl") -> None:
        self.user_agent = user_agent

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        made = cls(crawler.settings["USER_AGENT"])
        made.spider_opened(crawler.spider)
        return made

    def spider_opened(self, spider: Any) -> None:
        self.user_agent = getattr(spider, "user_agent", None) or self.user_agent

    def process_request(self, request: Request, spider: Any = None) -> Any:
        if self.user_agent:
            request.headers.setdefault("User-Agent", self.user_agent)


class DefaultHeadersMiddleware:
    """Gives requests the headers that they do not bring."""

    def __init__(self, headers: Any) -> None:
        self._headers = dict(headers)

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        return cls(crawler.settings["DEFAULT_REQUEST_HEADERS"].items())

    def process_request(self, request: Request, spider: Any = None) -> Any:
        for name, value in self._headers.items():
            if value is not None:
                request.headers.setdefault(name, value)


class HttpProxyMiddleware:
    """Leaves proxies to ``meta["proxy"]``, where subclasses put them; the built-in one adds that of the settings."""

    def __init__(self, auth_encoding: str | None = "utf-8") -> None:
        self.auth_encoding = auth_encoding

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        return cls()

    def process_request(self, request: Request, spider: Any = None) -> Any:
        return None


class _Following:
    """The common part of the two that follow redirects."""

    component: type[Redirect] = Redirect
    enabled_setting = "REDIRECT_ENABLED"

    def __init__(self, settings: Readings) -> None:
        if not settings.getbool(self.enabled_setting):
            raise NotConfigured
        self.max_redirect_times = settings.getint("REDIRECT_MAX_TIMES")
        own = settings if isinstance(settings, Settings) else Settings()
        self._component: Component = self.component(own)

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        return cls(crawler.settings)

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Request | Response:
        try:
            self._component.process_answer(request, response.answer)
        except Redirected as redirected:
            return self._redirect(redirected.request, request, spider, redirected.status)
        except FetchError:  # It cannot be followed: the built-in check of statuses says so.
            return response
        return response

    def _redirect(self, redirected: Request, request: Request, spider: Any, reason: Any) -> Request:
        return redirected


class RedirectMiddleware(_Following):
    """Follows redirects by status."""


class MetaRefreshMiddleware(_Following):
    """Follows redirects by ``<meta http-equiv="refresh">``."""

    component = MetaRefresh
    enabled_setting = "METAREFRESH_ENABLED"


class CookiesMiddleware:
    """Sends and keeps cookies, in jars by ``meta["cookiejar"]``."""

    def __init__(self, debug: bool = False) -> None:
        self.debug = debug
        self._cookies = Cookies()

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        if not crawler.settings.getbool("COOKIES_ENABLED"):
            raise NotConfigured
        return cls(crawler.settings.getbool("COOKIES_DEBUG"))

    def process_request(self, request: Request, spider: Any = None) -> Any:
        if not request.meta.get("dont_merge_cookies"):
            self._cookies.process_request(request)

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Any:
        if not request.meta.get("dont_merge_cookies"):
            self._cookies.process_answer(request, response.answer)
        return response
