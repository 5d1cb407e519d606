"""robots.txt as RFC 9309 says: how it is fetched, and what it allows.

The text comes from the host and is hostile like anything else. Only the groups that speak to us are
given to protego, after their number of patterns and wildcards was bounded; a bound is always met
by forbidding more, never less.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from protego import Protego

from p2pcrawl.core.hosts.robots_groups import lines_for
from p2pcrawl.core.usage.site_rules import TDM_FILE, TDM_FILE_MAX, SiteUsage, site_usage, tdm_lines
from p2pcrawl.fetch.components.proxy_choice import ProxyChoice
from p2pcrawl.fetch.components.redirect import resolve
from p2pcrawl.fetch.connection.fetcher import Fetcher
from p2pcrawl.fetch.connection.guard import Blocked
from p2pcrawl.model.choosing.setting_bounds import SECONDS_MAX
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import FetchError

SIZE_MAX: Final = 500 * 1024
REDIRECTS_MAX: Final = 5

Verdict = Literal["rules", "allow", "disallow"]


@dataclass(frozen=True, slots=True)
class RobotsText:
    """The result of asking for a robots.txt."""

    verdict: Verdict
    """``rules``: see ``body``. ``allow``: there is none. ``disallow``: unreachable, so keep out."""
    body: str = ""
    reason: str = ""


async def fetch_robots(
    client: Fetcher,
    origin: str,
    settings: Settings,
    pause: Callable[[str], Awaitable[None]],
) -> RobotsText:
    """Fetches the robots.txt that speaks for ``origin``.

    ``pause(host)`` is awaited before each further request, so that the caller can space them. Where the settings want
    usage signals, the rules of ``tdmrep.json`` stand before the text, see :func:`tdm_lines`.

    Raises Blocked when the origin itself is out of bounds; a redirect out of bounds is a verdict.
    """
    text = await _fetch_text(client, origin + "/robots.txt", settings, pause)
    if not settings.reads_usage or text.verdict == "disallow":
        return text
    await pause(host_of(origin))
    rules = await _fetch_tdm_rules(client, origin + TDM_FILE, settings, pause)
    return RobotsText("rules", rules + text.body, text.reason) if rules else text


async def _fetch_text(
    client: Fetcher, url: str, settings: Settings, pause: Callable[[str], Awaitable[None]]
) -> RobotsText:
    try:
        return _verdict(await _followed(client, url, settings, pause, SIZE_MAX))
    except FetchError as error:
        return RobotsText("disallow", reason=f"{error.kind}: {error}")
    except _LedAstray as astray:
        return RobotsText("disallow" if astray.out_of_bounds else "allow", reason=f"robots.txt {astray}")


async def _fetch_tdm_rules(
    client: Fetcher, url: str, settings: Settings, pause: Callable[[str], Awaitable[None]]
) -> str:
    """Fetches a ``tdmrep.json``; "" for a site that has none, or gives it to nobody, which means the same."""
    try:
        answer = await _followed(client, url, settings, pause, TDM_FILE_MAX)
    except (FetchError, Blocked, _LedAstray):
        return ""
    return tdm_lines(answer.body) if answer.status == 200 else ""


class _LedAstray(Exception):
    """A redirect leads nowhere; the text says where to."""

    def __init__(self, told: str, *, out_of_bounds: bool = False) -> None:
        super().__init__(told)
        self.out_of_bounds = out_of_bounds


async def _followed(
    client: Fetcher, url: str, settings: Settings, pause: Callable[[str], Awaitable[None]], cut: int
) -> Answer:
    """Fetches a file of a site's root, and follows its redirects. Raises FetchError, _LedAstray, and Blocked where the
    site itself is out of bounds.
    """
    for hop in range(REDIRECTS_MAX + 1):
        if hop:
            await pause(host_of(url))
        try:
            answer = await client.fetch(_plain_request(url, settings), cut=cut)
        except Blocked as error:
            if not hop:
                raise
            raise _LedAstray(f"leads out of bounds: {error}", out_of_bounds=True) from error
        if answer.status not in _REDIRECTS:
            return answer
        location = answer.headers.get("Location", "")
        if not location:
            raise _LedAstray(f"answered {answer.status} without a Location")
        target = resolve(url, location)
        if target is None:
            raise _LedAstray(f"is redirected to {location[:200]!r}")
        url = target
    raise _LedAstray(f"is redirected more than {REDIRECTS_MAX} times")


def _plain_request(url: str, settings: Settings) -> Request:
    headers = {"User-Agent": settings.user_agent, "Accept": "text/plain,*/*;q=0.5"}
    proxy = ProxyChoice(settings).proxy_for(url)
    return Request(url, headers=headers, meta={"proxy": proxy} if proxy else {})


_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


def _verdict(answer: Answer) -> RobotsText:
    status = answer.status
    if 200 <= status < 300:
        # A cut may have gone through a line, and half a rule is another rule.
        body = answer.body if len(answer.body) < SIZE_MAX else answer.body.rpartition(b"\n")[0]
        return RobotsText("rules", body.decode("utf-8-sig", "replace"))
    reason = f"robots.txt answered {status}"
    return RobotsText("disallow" if status >= 500 or status == 429 else "allow", reason=reason)


class RobotsRules:
    """One host's rules for one agent. Cheap to ask, however hostile the text."""

    __slots__ = ("_rules", "crawl_delay", "unreachable", "usage", "why_unreachable")

    def __init__(self, text: RobotsText, agent: str, *, usage: bool = False) -> None:
        self.unreachable = text.verdict == "disallow"
        """Nothing is allowed because robots.txt could not be had."""
        self.why_unreachable = text.reason if self.unreachable else ""
        self.crawl_delay: float | None = None
        """Seconds between requests, by Crawl-delay or Request-rate, whichever is slower; SECONDS_MAX at most."""
        self._rules: Protego | None = None
        if text.verdict == "rules" and (rules := _rules_for(text.body, agent)):
            self._rules = Protego.parse(rules)
            self.crawl_delay = _delay(self._rules)
        self.usage: SiteUsage | None = None
        """The statements about uses that stand beside the rules; read only where ``usage`` is asked for."""
        if usage and text.verdict == "rules":
            self.usage = site_usage(text.body, agent)

    def allowed(self, url: str) -> bool:
        """Tells whether a page may be fetched; a robots.txt always may, as the RFC says."""
        if url.endswith("/robots.txt") and url.count("/") == 3:
            return True
        if self._rules is None:
            return not self.unreachable
        try:
            return bool(self._rules.can_fetch(url, "*"))
        except ValueError:
            # Protego splits URLs as the standard library does, which trips over some.
            return False


_LINES_MAX: Final = 20_000
_WILDCARDS_MAX: Final = 2_000
_WILDCARDS_PER_PATTERN_MAX: Final = 20
_PATTERN_MAX: Final = 2_083
_RULE_LINE: Final = re.compile(
    r"\s*(allow|dis+al+[ao]w|dis+alow|diasllow|crawl[- ]delay|request[- ]rate)(?:\s*:|\s)\s*(.*)", re.IGNORECASE
)


def _rules_for(body: str, agent: str) -> str:
    """Returns the lines of all groups that name ``agent`` best, as one group for everyone; "" when there are none."""
    own, _ = lines_for(body, agent, _RULE_LINE)
    return "" if own is None else "\n".join(["User-agent: *", *_bounded(own)])


def _bounded(rules: list[tuple[str, str]]) -> Iterator[str]:
    wildcards = 0
    for number, (field, value) in enumerate(rules):
        if not value:
            continue
        if not field.startswith(("allow", "di")):
            yield f"{field}: {value[:100]}"
            continue
        allows = field == "allow"
        pattern = re.sub(r"\*{2,}", "*", value)
        count = pattern.count("*") + pattern.endswith("$")
        wildcards += count
        excess = (
            count > _WILDCARDS_PER_PATTERN_MAX
            or wildcards > _WILDCARDS_MAX
            or number > _LINES_MAX
            or len(pattern) > _PATTERN_MAX
        )
        if not excess:
            yield f"{'Allow' if allows else 'Disallow'}: {pattern}"
        elif not allows:
            yield f"Disallow: {pattern.rstrip('$').partition('*')[0][:_PATTERN_MAX] or '/'}"


def _delay(rules: Protego) -> float | None:
    delays = []
    if (delay := rules.crawl_delay("*")) is not None:
        delays.append(float(delay))
    if (rate := rules.request_rate("*")) is not None and rate.requests > 0:
        delays.append(rate.seconds / rate.requests)
    return min(max(delays), SECONDS_MAX) if delays else None
