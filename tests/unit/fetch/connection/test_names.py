"""Names to addresses, and whom to believe that there are none."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from p2pcrawl.fetch.connection.names import NO_NAME_ERRNOS, WITNESS_S, Names


class Resolver:
    """Knows some names. ``line``: whether the world can be asked; without it, it says that there are none."""

    def __init__(self, **addresses: str) -> None:
        self.addresses = addresses
        self.line = True
        self.asked: list[str] = []
        self.now = 0.0
        self.names = Names(self.look_up, lambda: self.now)

    def look_up(self, host: str, port: int, family: int) -> list[Any]:
        self.asked.append(host)
        if host not in self.addresses or (not self.line and host != "intranet"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (self.addresses[host], port))]

    async def errno_of(self, host: str) -> int | None:
        with pytest.raises(OSError) as caught:
            await self.names.resolve(host)
        return caught.value.errno


async def test_resolver_that_has_found_nothing_yet_is_believed() -> None:
    resolver = Resolver()

    assert await resolver.errno_of("nosuch") in NO_NAME_ERRNOS
    assert resolver.asked == ["nosuch"]


async def test_resolver_that_does_not_find_again_what_it_found_is_not_believed() -> None:
    resolver = Resolver(web="93.184.216.34")
    await resolver.names.resolve("web")
    resolver.line, resolver.now = False, WITNESS_S

    assert await resolver.errno_of("nosuch") == socket.EAI_AGAIN

    resolver.line = True
    assert await resolver.errno_of("nosuch") in NO_NAME_ERRNOS


async def test_one_witness_speaks_for_many_names() -> None:
    resolver = Resolver(web="93.184.216.34")
    await resolver.names.resolve("web")
    resolver.now = WITNESS_S
    for number in range(20):
        assert await resolver.errno_of(f"nosuch{number}") in NO_NAME_ERRNOS

    assert resolver.asked.count("web") == 2


async def test_name_of_this_machine_is_no_witness() -> None:
    resolver = Resolver(intranet="10.0.0.7")
    await resolver.names.resolve("intranet")
    resolver.line, resolver.now = False, WITNESS_S

    assert await resolver.errno_of("nosuch") in NO_NAME_ERRNOS
    assert resolver.asked == ["intranet", "nosuch"]
