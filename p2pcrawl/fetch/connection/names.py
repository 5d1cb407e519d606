"""Names to addresses, many at once, in threads of their own.

The loop's own ``getaddrinfo`` will not do: uvloop answers it from a pool of four threads, and asks that pool even to
connect to a plain address, so that a few names whose servers are silent would stop every host.

"There is no such name" is final for a page, and some home routers and some resolvers say it of every name while their
own line is down. So it is believed only as long as a name that did exist, the *witness*, is still found.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import Any, Final

from aiohttp.abc import AbstractResolver, ResolveResult

LOOKUPS_MAX: Final = 64
"""Open at once. A silent name server takes some ten seconds each."""


WITNESS_S: Final = 10.0
"""For so long a name that was found speaks for the resolver."""
NO_NAME_ERRNOS: Final = frozenset(
    code for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY") if (code := getattr(socket, name, None)) is not None
)
"""What a resolver says that has found out that there is no such name, or no address for it."""

LookUp = Callable[[str, int, int], list[Any]]


def system_look_up(host: str, port: int, family: int) -> list[Any]:
    """Blocks. Raises OSError."""
    # A machine that has lost its addresses would say that there is no such name when it is asked for one family only.
    flags = 0 if family else socket.AI_ADDRCONFIG
    return socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, flags)


class Names(AbstractResolver):
    """The system's resolver, or another. Its threads keep nobody from leaving: they are daemons."""

    def __init__(self, look_up: LookUp = system_look_up, clock: Callable[[], float] = monotonic) -> None:
        self._slots = asyncio.Semaphore(LOOKUPS_MAX)
        self._look_up_here = look_up
        self._clock = clock
        self._witness = ""
        self._witnessed_at = 0.0
        self._asking = asyncio.Lock()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises OSError when there is no such name (with one of NO_NAME_ERRNOS), or it cannot be found out."""
        try:
            infos = await self._look_up(host, port, family)
        except OSError as error:
            if error.errno in NO_NAME_ERRNOS and not await self._believed():
                text = f"the resolver says that there is no such name, and does not find {self._witness} either"
                raise socket.gaierror(socket.EAI_AGAIN, text) from error
            raise
        if any(_is_far(info[4][0]) for info in infos):
            self._witness, self._witnessed_at = host, self._clock()
        return [
            ResolveResult(
                hostname=host,
                host=_numeric(address),
                port=int(address[1]),
                family=kind,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, proto, _, address in infos
            if kind in (socket.AF_INET, socket.AF_INET6)
        ]

    async def close(self) -> None:
        pass

    async def _believed(self) -> bool:
        """Tells whether the resolver can be believed that there is no such name. Without a witness it has to be."""
        async with self._asking:
            if not self._witness or self._clock() - self._witnessed_at < WITNESS_S:
                return True
            try:
                await self._look_up(self._witness, 0, socket.AF_UNSPEC)
            except OSError:
                return False
            self._witnessed_at = self._clock()
            return True

    async def _look_up(self, host: str, port: int, family: int) -> list[Any]:
        loop = asyncio.get_running_loop()
        await self._slots.acquire()
        found: asyncio.Future[list[Any]] = loop.create_future()

        def end_wait(infos: list[Any], error: Exception | None) -> None:
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
                infos = self._look_up_here(host, port, family)
            except Exception as error:
                failed = error
            with suppress(RuntimeError):  # The loop is closed: nobody waits.
                loop.call_soon_threadsafe(end_wait, infos, failed)

        Thread(target=work, name=f"name {host[:50]}", daemon=True).start()
        return await found


def _is_far(address: object) -> bool:
    """Tells whether only a name server can have given this address: names of this machine are found without a network,
    too.
    """
    try:
        return ipaddress.ip_address(str(address).partition("%")[0]).is_global
    except ValueError:
        return False


def _numeric(address: tuple[Any, ...]) -> str:
    """Writes an address in numbers; a link-local IPv6 one needs its interface too."""
    if len(address) > 3 and address[3] and "%" not in str(address[0]):
        return f"{address[0]}%{address[3]}"
    return str(address[0])
