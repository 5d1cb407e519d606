"""Real servers on loopback, written byte by byte, and a client that may reach them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest
import uvloop

from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.settings import Settings

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> dict[str, Callable[[], object]]:
    """Runs what touches sockets on both loops: they differ in how they close, pause and report errors."""
    both = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    return both if "serve" in getattr(item, "fixturenames", ()) else {"asyncio": asyncio.new_event_loop}


@dataclass
class RawServer:
    """Says what it is told to say; keeps the heads that it got and counts connections."""

    url: str = ""
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0
    gone: int = 0

    def path_of(self, number: int) -> str:
        return self.heads[number].split(b" ", 2)[1].decode()


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[RawServer]]]:
    """``await serve(answer)``: bytes for each request in turn (the last one again and again), or a coroutine."""
    servers: list[asyncio.Server] = []
    tasks: set[asyncio.Task[None]] = set()

    async def start(*answers: bytes | Talk, host: str = "127.0.0.1") -> RawServer:
        server = RawServer()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            server.connections += 1
            try:
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    answer = answers[min(len(server.heads), len(answers) - 1)]
                    server.heads.append(head)
                    if callable(answer):
                        await answer(reader, writer, head)
                        return
                    writer.write(answer)
                    await writer.drain()
                    if b"connection: close" in answer.partition(b"\r\n\r\n")[0].lower():
                        return
            except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                server.gone += 1
                tasks.discard(task)
                writer.close()
                with contextlib.suppress(OSError, asyncio.CancelledError):
                    await writer.wait_closed()

        listening = await asyncio.start_server(talk, host, 0)
        servers.append(listening)
        server.port = listening.sockets[0].getsockname()[1]
        server.url = f"http://[{host}]:{server.port}" if ":" in host else f"http://{host}:{server.port}"
        return server

    yield start
    for listening in servers:
        listening.close()
    for task in list(tasks):
        task.cancel()
    if tasks:
        await asyncio.wait(list(tasks))


@pytest.fixture
async def new_client() -> AsyncIterator[Callable[..., Awaitable[HttpClient]]]:
    """``await new_client(setting=value, ...)``: an open client; loopback is open unless ``networks`` says otherwise."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(networks: Networks | None = None, **settings: object) -> HttpClient:
            opened = Networks((), ["127.0.0.0/8"]) if networks is None else networks
            return await stack.enter_async_context(HttpClient(Settings().updated(settings), opened))

        yield start


@pytest.fixture
def page() -> Callable[..., bytes]:
    """``page(body, *header_lines, status=...)``: a whole answer with its Content-Length."""

    def build(body: bytes = b"", *lines: str, status: str = "200 OK") -> bytes:
        head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines]
        return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body

    return build
