"""Running a site in a process of its own, so that it takes nothing from the crawl beside it.

The process says that it is ready with one line of JSON on its standard output. With ``--until-eof`` it ends when its
standard input is closed, so it cannot outlive the one who started it, not even through a kill -9.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

READY_TIMEOUT_S = 60.0
READY_BYTES_MAX = 4 * 1024 * 1024


class Site(Protocol):
    """The interface of a site that can be run in a process of its own."""

    async def start(self) -> str:
        """Begins to serve, and returns the URL to begin with."""

    async def stop(self) -> None:
        """Serves no longer."""

    def ready(self) -> dict[str, Any]:
        """Returns what the starter needs to know, as plain data."""


def site_parser(description: str) -> argparse.ArgumentParser:
    """Makes a parser with the options that every site's process has; the site adds its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, default=0, help="the port to serve at; a free one by default")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input is closed")
    return parser


def run_site(site: Site, until_eof: bool = False) -> None:
    """Serves ``site`` until SIGTERM or SIGINT, or the end of standard input when asked so."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(site, until_eof))


@contextlib.asynccontextmanager
async def site_process(module: str, *arguments: str) -> AsyncIterator[dict[str, Any]]:
    """Runs ``python -m module arguments`` for the length of a block and gives what its ready line says.

    Raises RuntimeError when the process ends, or stays silent, before it is ready. The process has ended when the
    block is left.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        "--until-eof",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=READY_BYTES_MAX,
        # Ctrl-C is for the one who crawls; the site serves until then.
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_TIMEOUT_S)
        if not line:
            raise RuntimeError(f"the site {module} ended before it was ready")
        yield json.loads(line)
    except TimeoutError as error:
        raise RuntimeError(f"the site {module} was not ready after {READY_TIMEOUT_S:.0f} s") from error
    finally:
        process.stdin.close()
        await ended(process)


async def ended(process: asyncio.subprocess.Process) -> None:
    """Waits for the end of a process that was told to end; kills one that does not."""
    try:
        await asyncio.wait_for(process.wait(), 5.0)
    except TimeoutError:
        process.kill()
        await process.wait()


async def _serve(site: Site, until_eof: bool) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, over.set)
    await site.start()
    print(json.dumps(site.ready()), flush=True)
    if until_eof:
        threading.Thread(target=_watch_stdin, args=(loop, over), daemon=True).start()
    try:
        await over.wait()
    finally:
        await site.stop()


def _watch_stdin(loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(over.set)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
