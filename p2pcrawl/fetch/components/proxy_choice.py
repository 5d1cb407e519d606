"""The proxy of a request that names none itself: that of the settings, else that of the environment."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import cache
from typing import Final
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.fetch.connection.addresses import LOOPBACK, judged
from p2pcrawl.fetch.connection.guard import Blocked, opened_by
from p2pcrawl.fetch.connection.socks import SOCKS_SCHEMES
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.redaction import redacted

log = logging.getLogger(__name__)

_SCHEMES: Final = ("http", "https")


class ProxyChoice:
    """Chooses by HTTP_PROXY of the settings; without it by ``http_proxy``, ``https_proxy`` and ``no_proxy`` of the
    environment, unless HTTPPROXY_ENABLED is off.

    The environment's are for other machines: a host of this one is asked directly, since at the proxy the same name
    is another machine's. Whatever is chosen, the guard of the networks judges the target.
    """

    __slots__ = ("_by_scheme", "_environment", "_setting")

    def __init__(self, settings: Settings, environment: Mapping[str, str] | None = None) -> None:
        self._setting = settings.http_proxy
        self._environment: dict[str, str] = {}
        self._by_scheme: dict[str, str] = {}
        if not self._setting and settings.httpproxy_enabled and not settings.proxy_pool:
            self._environment = _told_by(os.environ if environment is None else environment)
            self._by_scheme = {
                scheme: proxy for scheme in _SCHEMES if (proxy := _usable(self._environment.get(scheme, "")))
            }

    def __bool__(self) -> bool:
        return bool(self._setting or self._by_scheme)

    def proxy_for(self, url: str) -> str:
        """Returns the URL of the proxy; "" for none."""
        if self._setting:
            return self._setting
        proxy = self._by_scheme.get(url.partition(":")[0], "")
        if not proxy or _is_of_this_machine(url) or proxy_bypass_environment(host_of(url), self._environment):
            return ""
        return proxy


class Proxy(Component):
    """The proxy that is chosen for requests without a ``meta["proxy"]``; an empty one there means none."""

    order = 750

    def __init__(self, choice: ProxyChoice) -> None:
        self._choice = choice

    def process_request(self, request: Request) -> None:
        if "proxy" not in request.meta and (proxy := self._choice.proxy_for(request.url)):
            request.meta["proxy"] = proxy


def _told_by(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment's proxies by scheme, as the standard library reads them."""
    if environment is os.environ:
        return _of_this_process()
    names = {name.lower(): value for name, value in environment.items()}
    return {name.removesuffix("_proxy"): value for name, value in names.items() if name.endswith("_proxy") and value}


@cache
def _of_this_process() -> dict[str, str]:
    return getproxies_environment()


@cache
def _usable(proxy: str) -> str:
    """Returns the URL of a proxy of the environment; "" for one of a kind that is not known, which is told of once."""
    if not proxy:
        return ""
    scheme, separator, _ = proxy.partition("://")
    if not separator:
        return f"http://{proxy}"
    if scheme.lower() in _SCHEMES or scheme.lower() in SOCKS_SCHEMES:
        return proxy
    log.warning("the proxy of the environment, %s, is left out: its kind is not known", redacted(proxy))
    return ""


def _is_of_this_machine(url: str) -> bool:
    host = opened_by(url)
    if not host:
        return False
    try:
        return judged(host)[1] == LOOPBACK
    except Blocked:
        return True  # A name: of those, only this machine's open anything.
