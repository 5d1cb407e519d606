"""The verbs ``fetch`` and ``view``: one page, as a crawl would get it, for other programs and for browsers."""

from __future__ import annotations

import asyncio
import html
import os
import re
import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from p2pcrawl.cli.screen.logs import log_to
from p2pcrawl.cli.screen.terminal import Terminal, show
from p2pcrawl.cli.trying.page_getter import PageGetter
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.page.typed_urls import checked_url

_head = re.compile(rb"<head(?:\s[^>]*)?>", re.IGNORECASE)
_base = re.compile(rb"<base\s", re.IGNORECASE)


def run_fetch(text: str, settings: Mapping[str, str], level: str, *, headers: bool) -> int:
    """Writes the body of a page to standard output, as it is, or its headers; 1 for a status that is no success."""
    response = _fetched(text, settings, level)
    if headers:
        for mark, lines in (("> ", response.request.headers.lines), ("< ", response.headers.lines)):
            for name, value in lines:
                show(f"{mark}{name}: {value}")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(response.body)
        sys.stdout.buffer.flush()
    return int(response.status >= 400)


def run_view(text: str, settings: Mapping[str, str], level: str, output: Path | None) -> int:
    """Writes a page to a file, with its address as the base of its links, and opens it in a browser unless a name is
    given to the file.
    """
    response = _fetched(text, settings, level)
    show(f"{response.status} {response.url}, in {write_page(response, output, opens=output is None)}")
    return int(response.status >= 400)


def write_page(response: Response, output: Path | None = None, *, opens: bool = True) -> Path:
    """Writes a page to a file as a browser shows it, and opens one. Returns the file."""
    if output is None:
        kind = ".html" if "html" in str(response.headers.get("Content-Type", "html")) else ".txt"
        descriptor, name = tempfile.mkstemp(suffix=kind, prefix="p2pcrawl-")
        os.close(descriptor)
        output = Path(name)
    try:
        output.write_bytes(_with_base(response))
    except OSError as error:
        raise ConfigurationError(f"cannot write {output}: {error.strerror}") from error
    if opens:
        webbrowser.open(output.absolute().as_uri())
    return output


def _with_base(response: Response) -> bytes:
    """Returns a page with its address in it: in a file its links would lead nowhere."""
    body = response.body
    if _base.search(body):
        return body
    base = f'<base href="{html.escape(response.url)}">'.encode()
    return _head.sub(lambda head: head[0] + base, body, count=1)


def _fetched(text: str, settings: Mapping[str, str], level: str) -> Response:
    """Gets a page, and tells of its status and of each redirect on standard error. Raises P2PCrawlError without one."""
    terminal = Terminal(live=False)

    async def get() -> Response:
        pages = PageGetter(Settings().updated(settings))
        await pages.open()
        try:
            return await pages.get(Request(checked_url(text)), terminal.write)
        finally:
            await pages.close()

    with log_to(terminal, level), asyncio.Runner(loop_factory=new_event_loop) as runner:
        response = runner.run(get())
    terminal.write(on_one_line(f"{response.status} {response.url}"))
    return response
