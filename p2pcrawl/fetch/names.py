"""Names to addresses, many at once, in threads of their own.

The loop's own ``getaddrinfo`` will not do: uvloop answers it from a pool of four threads, and asks that pool even to
connect to a plain address, so that a few names whose servers are silent would stop every host.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from threading import Thread
from typing import Any, Final

from aiohttp.abc import AbstractResolver, ResolveResult

LOOKUPS_MAX: Final = 64
"""Open at once. A silent name server takes some ten seconds each."""


class Names(AbstractResolver):
    """The system's resolver. Its threads keep nobody from leaving: they are daemons."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(LOOKUPS_MAX)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises OSError when there is no such name, or it cannot be found out."""
        return [
            ResolveResult(
                hostname=host,
                host=_numeric(address),
                port=int(address[1]),
                family=kind,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, proto, _, address in await self._look_up(host, port, family)
            if kind in (socket.AF_INET, socket.AF_INET6)
        ]

    async def close(self) -> None:
        pass

    async def _look_up(self, host: str, port: int, family: int) -> list[Any]:
        loop = asyncio.get_running_loop()
        await self._slots.acquire()
        found: asyncio.Future[list[Any]] = loop.create_future()

        def settle(infos: list[Any], error: Exception | None) -> None:
            # The slot is the thread's, so it is free only now, even when nobody waits any longer.
            self._slots.release()
            if found.done():
                return
            if error is not None:
                found.set_exception(error)
            else:
                found.set_result(infos)

        def work() -> None:
            infos: list[Any] = []
            failed: Exception | None = None
            try:
                infos = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
            except Exception as error:
                failed = error
            with suppress(RuntimeError):  # The loop is closed: nobody waits.
                loop.call_soon_threadsafe(settle, infos, failed)

        Thread(target=work, name=f"name {host[:50]}", daemon=True).start()
        return await found


def _numeric(address: tuple[Any, ...]) -> str:
    """A link-local IPv6 address needs its interface too."""
    if len(address) > 3 and address[3] and "%" not in str(address[0]):
        return f"{address[0]}%{address[3]}"
    return str(address[0])
