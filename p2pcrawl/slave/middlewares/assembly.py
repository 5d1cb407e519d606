"""The components in the chain of a crawl, and their places: the built-in ones, as DOWNLOADER_MIDDLEWARES moves them
or leaves them out, and people's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.slave.middlewares.peoples import PeoplesComponent
from p2pcrawl.slave.middlewares.spider_side import SpiderSide
from p2pcrawl.spiders.finding.built_in import built_in
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.making import make_component, taking_part

STAND_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    "CookiesMiddleware": ("Cookies", "CookieTalk"),
    "DefaultHeadersMiddleware": ("DefaultHeaders",),
    "DownloaderStats": ("FetchStats",),
    "HttpAuthMiddleware": ("HttpAuth",),
    "HttpCacheMiddleware": ("HttpCache", "PolicyCache"),
    "HttpProxyMiddleware": ("Proxy", "ProxyChoice"),
    "MetaRefreshMiddleware": ("MetaRefresh",),
    "RedirectMiddleware": ("Redirect",),
    "RetryMiddleware": ("Retry",),
    "RobotsTxtMiddleware": ("RobotsCheck",),
    "UserAgentMiddleware": ("UserAgent",),
}
"""Scrapy's built-in downloader middlewares, and the components that do their work here."""


_OFF: Final[Mapping[str, Mapping[str, Any]]] = {
    "DepthMiddleware": {"depth_limit": 0},
    "HttpCompressionMiddleware": {"compression_enabled": False},
    "HttpErrorMiddleware": {"httperror_allow_all": True},
    "OffsiteMiddleware": {"offsite_enabled": False},
    "RefererMiddleware": {"referer_enabled": False},
    "UrlLengthMiddleware": {"urllength_limit": 0},
}


def assembled(settings: Settings, handle: CrawlHandle, defaults: Iterable[Component]) -> list[Component]:
    """Returns the components of a crawl's chain. Raises ConfigurationError for a middleware that cannot be made."""
    components = list(defaults)
    handle.built_in = {type(each).__name__: each for each in components}
    for path, order in settings.downloader_middlewares.items():
        name = built_in(path)
        if name:
            stand = STAND_FOR.get(name, ())
            if order is None:
                components = [each for each in components if type(each).__name__ not in stand]
            for each in components:
                if type(each).__name__ in stand:
                    each.order = order  # type: ignore[misc, assignment]
    silence_s = settings.slave_silence
    made = peoples(settings.downloader_middlewares, handle)
    handle.parts["downloader middleware"] = [middleware for _, middleware in made]
    return [*components, *(PeoplesComponent(each, order, handle.spider, silence_s) for order, each in made)]


def spider_side(settings: Settings, handle: CrawlHandle) -> SpiderSide:
    """Returns the spider middlewares of a crawl. Raises ConfigurationError for one that cannot be made."""
    handle.parts["spider middleware"] = made = [each for _, each in peoples(settings.spider_middlewares, handle)]
    return SpiderSide(made, handle.spider)


def without_left_out(settings: Settings) -> Settings:
    """Returns the settings as they are where built-in middlewares that are no components of the chain are left out."""
    changes: dict[str, Any] = {}
    for path, order in {**settings.downloader_middlewares, **settings.spider_middlewares}.items():
        if order is None:
            changes.update(_OFF.get(built_in(path), {}))
    return settings.updated(changes) if changes else settings


def peoples(paths: Mapping[str, int | None], handle: CrawlHandle) -> list[tuple[int, Any]]:
    """Returns the components of a setting that are people's own, made, each with its order; those that do not want to
    take part are told. Raises ConfigurationError for one that cannot be made.
    """
    made: list[tuple[int, Any]] = []
    for path, order in sorted(((p, o) for p, o in paths.items() if o is not None), key=lambda pair: pair[1]):
        if built_in(path):
            continue
        with taking_part(path):
            made.append((order, make_component(path, handle)))
    return made
