"""The components that make a visitor of requests: their user agent, and the session that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from p2pcrawl.core.visitors.agents import AgentDraw, matching_headers
from p2pcrawl.core.visitors.session_pool import OURS, SessionPool
from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.fetch.proxies.bans import BanSigns
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import ConfigurationError, FetchError
from p2pcrawl.model.outcome import Failure

FILE: Final = "file:"
FILE_MAX: Final = 1024 * 1024


class UserAgents(Component):
    """The drawn User-Agent with its headers, for requests that do not bring their own."""

    order = 390

    def __init__(self, weights: Mapping[str, Any]) -> None:
        """Raises ConfigurationError for a file that cannot be read, or says nothing."""
        self._draw = AgentDraw(_read_all(weights))
        self._known: dict[tuple[str, bool], dict[str, str]] = {}

    def process_request(self, request: Request) -> None:
        headers = request.headers
        if "User-Agent" in headers:
            return
        session = request.meta.get("session") if request.meta else None
        name = f"session {session}" if session is not None else f"host {host_of(request.url)}"
        for header, value in self._headers_of(self._draw.of(name), request.url.startswith("https:")).items():
            headers.setdefault(header, value)

    def _headers_of(self, agent: str, secure: bool) -> dict[str, str]:
        known = self._known.get((agent, secure))
        if known is None:
            known = self._known[agent, secure] = {"User-Agent": agent, **matching_headers(agent, secure=secure)}
        return known


class Sessions(Component):
    """Gives requests that name neither session nor cookie jar one of the pool."""

    order = 380

    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool

    def process_request(self, request: Request) -> None:
        if "session" not in request.meta and "cookiejar" not in request.meta:
            request.meta["session"] = self._pool.take()


class SessionWatch(Component):
    """Ends the session that a host keeps out, and has the page asked for again, by another one.

    Near the network: it sees an answer before anybody makes a failure or a redirect of it.
    """

    order = 745

    def __init__(self, settings: Settings, pool: SessionPool) -> None:
        self._pool = pool
        self._bans = BanSigns(settings)
        self._attempts = settings.proxy_retry_times

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        name = str(request.meta.get("session") or "")
        if not name.startswith(OURS) or not (why := self._bans.seen(request, answer)):
            return answer
        self._pool.end(name)
        if int(request.meta.get("retry_times") or 0) >= self._attempts:
            return answer
        raise FetchError(Failure.BANNED, f"the host keeps the session out: {why}")

    def process_error(self, request: Request, error: Exception) -> None:
        if isinstance(error, FetchError) and error.kind is Failure.BANNED:
            self._pool.end(str(request.meta.get("session") or ""))


def _read_all(weights: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, weight in weights.items():
        if name.startswith(FILE):
            found |= dict(_lines(Path(name.removeprefix(FILE)).expanduser()))
        else:
            found[name] = float(weight)
    if not found:
        raise ConfigurationError("USER_AGENTS names a file without agents")
    return found


def _lines(path: Path) -> Iterable[tuple[str, float]]:
    """Yields the agents of a file, one a line, each after its weight and a tab, or alone."""
    try:
        with path.open("rb") as file:
            text = file.read(FILE_MAX).decode("utf-8", "replace")
    except OSError as error:
        raise ConfigurationError(f"cannot read the user agents in {path}: {error.strerror}") from error
    for line in text.splitlines():
        weight, tab, agent = line.partition("\t")
        if not tab:
            weight, agent = "1", line
        if agent.strip() and not agent.startswith("#"):
            try:
                number = float(weight)
            except ValueError:
                number = 0.0
            if not 0.0 < number < 1e9:
                raise ConfigurationError(f"{path}: {weight!r} is no weight of a user agent")
            yield agent.strip(), number
