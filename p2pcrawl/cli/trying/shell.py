"""The verb ``shell``: one page, fetched as a crawl would fetch it, and a prompt to try things on it."""

from __future__ import annotations

import ast
import asyncio
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from p2pcrawl.cli.screen.logs import log_to
from p2pcrawl.cli.screen.terminal import Terminal
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.cli.trying.fetch_verb import write_page
from p2pcrawl.cli.trying.page_getter import PageGetter
from p2pcrawl.cli.trying.prompts import prompt_with
from p2pcrawl.cli.trying.tried_spider import spiders_at, with_chain
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.page.typed_urls import checked_url
from p2pcrawl.spiders.spider import Spider

BANNER = """\
response        the page: .css() .xpath() .re() .json() .text .links .title .headers .follow_all()
request         what was asked for; spider and settings: what the page was got with
fetch(url)      gets another page (a URL or a Request)
view()          tells about the present one; view(response) opens it in a browser
shelp()         shows this; Ctrl-D leaves"""


def run_shell(text: str, *, code: str | None, settings: dict[str, str], level: str, target: str = "") -> int:
    """Fetches the page, then runs ``code``, or what is piped in, or a prompt. ``target``: the spider whose settings and
    middlewares it is fetched with.
    """
    url = checked_url(text)
    terminal = Terminal(live=False)
    with log_to(terminal, level), asyncio.Runner(loop_factory=new_event_loop) as runner:
        spider, chosen, visitor = _with_spider(target, settings)
        runner.run(visitor.open())
        try:
            shell = Shell(visitor, runner.run, terminal.write, {"spider": spider, "settings": chosen})
            shell.fetch(url)
            if code is not None:
                return shell.execute(code, "-c")
            if not sys.stdin.isatty():
                return shell.execute(sys.stdin.read(), "<stdin>")
            return shell.prompt()
        finally:
            runner.run(visitor.close())


def _with_spider(target: str, typed: dict[str, str]) -> tuple[Spider, Settings, PageGetter]:
    """Returns the spider that pages are got for, its settings, and its way to the web."""
    if target:
        cls, base = spiders_at(target, typed)[0]
        return with_chain(cls, base, {})
    settings = Settings().updated(typed)
    return Spider("shell"), settings, PageGetter(settings)


class Shell:
    """The names that the prompt knows, and the ways to run code with them."""

    def __init__(
        self, visitor: PageGetter, run: Callable[[Any], Any], told: Callable[[str], None], given: Mapping[str, Any]
    ) -> None:
        self._visitor = visitor
        self._run = run
        self._told = told
        self._robots: list[str] = []
        self.names: dict[str, Any] = {
            **given,
            "fetch": self.fetch,
            "view": self.view,
            "shelp": self.shelp,
            "Request": Request,
        }

    def fetch(self, target: str | Request) -> Response:
        """Gets a page; ``response`` and ``request`` are its from now on."""
        asked = target if isinstance(target, Request) else Request(checked_url(target))
        response: Response = self._run(self._visitor.get(asked, self._told))
        first = self._run(self._visitor.robots(asked.url))
        self._robots = [f"robots.txt: {first}"]
        if response.request.url != asked.url:
            # A crawl asks for each step of a redirect.
            there = self._run(self._visitor.robots(response.request.url))
            self._robots = [f"robots.txt for {asked.url}: {first}", f"robots.txt for {response.request.url}: {there}"]
        self.names |= {"response": response, "request": response.request}
        self.view()
        return response

    def shelp(self) -> None:
        """Tells which names there are."""
        self._told(BANNER)

    def view(self, response: Response | None = None) -> None:
        """Tells about the present page; a page that is given is opened in a browser."""
        if response is not None:
            self._told(f"in {write_page(response)}")
            return
        for line in _described(self.names["response"]):
            self._told(on_one_line(line))
        for line in self._robots:
            self._told(f"  {on_one_line(line)}")

    def execute(self, source: str, name: str) -> int:
        """Runs code and prints the value of its last expression, if it has one. 1 when it raises."""
        try:
            tree = ast.parse(source, name)
        except SyntaxError as error:
            raise ConfigurationError(f"{name}, line {error.lineno}: syntax error: {error.msg}") from error
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        try:
            whole = compile(tree, name, "exec")
            exec(whole, self.names)  # nosec B102  # what the user types at his own prompt
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), name, "eval"), self.names)  # nosec B307  # typed, too
                if value is not None and not (isinstance(value, Response) and _is_call_of_fetch(last.value)):
                    print(value)
        except P2PCrawlError:
            raise
        except BrokenPipeError:
            raise
        except Exception as error:
            # Without our own frames at the top.
            trace = error.__traceback__
            traceback.print_exception(error.with_traceback(trace.tb_next if trace is not None else None))
            return 1
        return 0

    def prompt(self) -> int:
        """Shows an interactive prompt until its end."""
        prompt_with(self.names, BANNER)
        return 0


def _is_call_of_fetch(node: ast.expr) -> bool:
    """Tells whether ``node`` is ``fetch(...)``, which has told about the page already."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fetch"


def _described(response: Response) -> list[str]:
    answer = response.answer
    kind = response.headers.get("Content-Type", "no content type")
    hosts = len({host_of(link) for link in response.links})
    ip = f", from {answer.ip}" if answer.ip and answer.ip != urlsplit(answer.url).hostname else ""
    lines = [
        f"{response.status} {response.url}",
        f"  {len(response.body):,} bytes, {kind}, {answer.latency_s * 1000:.0f} ms{ip}",
    ]
    if response.title:
        lines.append(f"  title: {response.title}")
    lines.append(f"  links: {len(response.links)} to {counted(hosts, 'host')}")
    return lines
