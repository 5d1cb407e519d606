"""Connections through SOCKS proxies, versions 4 and 5, by python-socks (the extra ``socks``).

``socks5``, ``socks5h`` and ``socks4a`` proxies are told the host's name, as HTTP proxies are, and ask for its address
themselves. A ``socks4`` proxy is told an address: the one that the guard has seen.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from socket import socket
from typing import Any, Final
from urllib.parse import unquote

import aiohttp
from aiohttp.client_reqrep import ConnectionKey
from yarl import URL

SOCKS_SCHEMES: Final = frozenset({"socks4", "socks4a", "socks5", "socks5h"})
NEEDED: Final = "SOCKS proxies need python-socks: pip install 'p2pcrawl[socks]'"


class SocksRefused(aiohttp.ClientError):
    """The proxy was there, and would not or could not go on to the host."""


class SocksUnusable(aiohttp.ClientError):
    """The proxy could not be used at all."""


class SocksRequest(aiohttp.ClientRequest):
    """aiohttp's request, which goes through a SOCKS proxy as if there were none; its connections are kept apart."""

    socks: URL | None = None

    def update_proxy(self, proxy: URL | None, proxy_auth: Any, proxy_headers: Any) -> None:
        if proxy is not None and proxy.scheme in SOCKS_SCHEMES:
            self.socks, proxy, proxy_auth, proxy_headers = proxy, None, None, None
        super().update_proxy(proxy, proxy_auth, proxy_headers)

    @property
    def connection_key(self) -> ConnectionKey:
        key = super().connection_key
        return key if self.socks is None else key._replace(proxy=self.socks)


def has_socks() -> bool:
    """Tells whether SOCKS proxies can be used here."""
    return find_spec("python_socks") is not None


async def socks_socket(proxy: URL, host: str, port: int) -> socket:
    """Returns a socket that leads to ``host`` through ``proxy``. Raises SocksRefused and SocksUnusable."""
    try:
        import python_socks
        from python_socks.async_.asyncio import Proxy
    except ModuleNotFoundError:
        raise SocksUnusable(NEEDED) from None
    kind = python_socks.ProxyType.SOCKS4 if proxy.scheme.startswith("socks4") else python_socks.ProxyType.SOCKS5
    line = Proxy(
        kind,
        proxy.host or "",
        proxy.port or 1080,
        unquote(proxy.raw_user) if proxy.raw_user else None,
        unquote(proxy.raw_password) if proxy.raw_password else None,
        rdns=proxy.scheme != "socks4",
        loop=asyncio.get_running_loop(),
    )
    try:
        return await line.connect(host, port)
    except python_socks.ProxyError as error:
        raise SocksRefused(str(error)) from error
    except (python_socks.ProxyConnectionError, python_socks.ProxyTimeoutError, OSError) as error:
        raise SocksUnusable(str(error)) from error
