"""The component that asks what may be done with a page, before it is fetched and when it is here.

Before: lines of robots.txt and the rules of ``tdmrep.json``. After: the headers of the answer and the ``<meta>`` tags
of an HTML page. What forbids the purpose of the crawl ends the page, or marks it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from typing import Final

from p2pcrawl.core.usage.said import POLICY_MAX, Statement, forbidding, ground_of, told
from p2pcrawl.core.usage.site_rules import TDM_PURPOSES
from p2pcrawl.core.usage.vocabulary import VALUES_MAX, content_signal, content_usage, robots_tag
from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.fetch.components.robots import RobotsRules
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.purpose import ForbiddenPages
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import origin_of
from p2pcrawl.model.errors import IgnoreRequest
from p2pcrawl.model.outcome import Drop

HEAD_MAX: Final = 64 * 1024
"""Bytes of a page in which its tags are looked for: at most so many, and no more than its head."""
_WORDS_MAX: Final = 100
_TAG_MAX: Final = 2_000
_ATTRIBUTE: Final = re.compile(rb"(name|content)\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


class Reserved(IgnoreRequest):
    """A site forbids what the crawl is for; ``answer``: the one that says so, if it took one to learn it."""

    def __init__(self, drop: Drop, url: str, why: str, answer: Answer | None = None) -> None:
        super().__init__(f"{drop}: {url}")
        self.drop = drop
        self.why = why
        self.answer = answer


class UsageSignals(Component):
    """Raises Reserved for pages that may not be used for the purpose, or notes in ``answer.forbidden`` that they may
    not; in ``answer.usage`` what was said of them.
    """

    order = 110
    answer_order = -1
    """Looked at are answers that the spider is to get."""

    def __init__(self, settings: Settings, rules_for: Callable[[str], RobotsRules | None]) -> None:
        self._purposes = settings.purpose
        self._leaves_out = bool(settings.purpose) and settings.purpose_forbidden is ForbiddenPages.LEAVE_OUT
        self._agent = settings.robots_agent
        self._rules_for = rules_for

    def process_request(self, request: Request) -> None:
        # Asked in any case: where the site's rules are not known here, that is said before the fetch.
        signals = self._of_site(request.url)
        if self._leaves_out and (signal := forbidding(signals, self._purposes)):
            raise Reserved(signal.by, request.url, ground_of(signal, self._purposes))

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        own = page_signals(answer, self._agent)
        signals = self._of_site(request.url)
        if any(signal.by is Drop.TDM for signal in own):
            # A page's own word on text and data mining stands before its site's.
            signals = [signal for signal in signals if signal.by is not Drop.TDM]
        signals = [*signals, *own]
        answer.usage = told(signals)
        if signal := forbidding(signals, self._purposes):
            if self._leaves_out:
                raise Reserved(signal.by, request.url, ground_of(signal, self._purposes), answer)
            answer.forbidden = signal.by.value
        return answer

    def _of_site(self, url: str) -> list[Statement]:
        rules = self._rules_for(origin_of(url))
        if rules is None or rules.usage is None:
            return []
        begins = url.find("/", 8)
        return rules.usage.signals(url[begins:].partition("#")[0] if begins >= 0 else "/")


def page_signals(answer: Answer, agent: str) -> list[Statement]:
    """Returns what an answer says about its own use, by its headers and its ``<meta>`` tags."""
    signals = list(_in_headers(answer, agent))
    kind = answer.headers.get("Content-Type", "")
    if not kind or "html" in kind:
        tags = list(_in_tags(answer.body, agent))
        if any(signal.by is Drop.TDM for signal in tags):
            signals = [signal for signal in signals if signal.by is not Drop.TDM]
        signals += tags
    return signals


def _in_headers(answer: Answer, agent: str) -> Iterator[Statement]:
    headers = answer.headers
    if "Content-Signal" in headers:
        text = ", ".join(_all(answer, "Content-Signal"))
        if verdicts := content_signal(text):
            yield Statement(Drop.CONTENT_SIGNAL, "header", f"Content-Signal: {text}", verdicts)
    if "Content-Usage" in headers:
        text = ", ".join(_all(answer, "Content-Usage"))
        if verdicts := content_usage(text):
            yield Statement(Drop.CONTENT_USAGE, "header", f"Content-Usage: {text}", verdicts)
    if "X-Robots-Tag" in headers:
        values = _all(answer, "X-Robots-Tag")
        image = headers.get("Content-Type", "").startswith("image/")
        if verdicts := robots_tag(values, agent, image=image):
            yield Statement(Drop.ROBOTS_TAG, "header", f"X-Robots-Tag: {', '.join(values)}", verdicts)
    if "TDM-Reservation" in headers:
        yield from _tdm("header", headers["TDM-Reservation"], headers.get("TDM-Policy", ""))


def _all(answer: Answer, name: str) -> list[str]:
    """Returns all values of a header, of so many as are read."""
    getall = getattr(answer.headers, "getall", None)
    return list(getall(name))[:VALUES_MAX] if getall is not None else [answer.headers[name]]


def _tdm(place: str, reservation: str, policy: str) -> Iterator[Statement]:
    value = reservation.strip()
    if value in ("0", "1"):
        said = f"tdm-reservation: {value}"
        yield Statement(Drop.TDM, place, said, dict.fromkeys(TDM_PURPOSES, value == "0"), policy.strip()[:POLICY_MAX])


def _in_tags(body: bytes, agent: str) -> Iterator[Statement]:
    names = {"robots", agent.lower()}
    reservation = policy = ""
    for name, content in _tags(_head(body), (*names, "tdm-reservation", "tdm-policy")):
        if name in names:
            if verdicts := robots_tag([content], agent):
                yield Statement(Drop.ROBOTS_TAG, "page", f'<meta name="{name}" content="{content}">', verdicts)
        elif name == "tdm-reservation":
            reservation = content
        elif name == "tdm-policy":
            policy = content
    if reservation:
        yield from _tdm("page", reservation, policy)


def _head(body: bytes) -> bytes:
    """Returns the head of a page, or as much of the page as it can be in."""
    end = body.find(b"</head", 0, HEAD_MAX)
    if end < 0:
        end = body.find(b"</HEAD", 0, HEAD_MAX)
    return body[: end if end >= 0 else HEAD_MAX]


def _tags(head: bytes, wanted: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields the names, in lower case, and contents of the ``<meta>`` tags in which one of these words stands. Looks at
    no others: most pages have dozens, and none of these.
    """
    lower = head.lower()
    # What comes after the last one, scripts as a rule, is no tag's.
    upto = lower.rfind(b"<meta") + _TAG_MAX
    begun = set()
    for word in wanted:
        sought, at = word.encode(), -1
        for _ in range(_WORDS_MAX):
            at = lower.find(sought, at + 1, upto)
            if at < 0:
                break
            begins = lower.rfind(b"<meta", max(0, at - _TAG_MAX), at)
            if begins >= 0:
                begun.add(begins)
    for begins in sorted(begun):
        end = lower.find(b">", begins, begins + _TAG_MAX)
        found = {
            match[1].lower(): match[2] or match[3] or match[4] or b""
            for match in _ATTRIBUTE.finditer(head, begins, end if end >= 0 else begins + _TAG_MAX)
        }
        if b"name" in found:
            yield (
                found[b"name"].decode("utf-8", "replace").strip().lower(),
                unescape(found.get(b"content", b"").decode("utf-8", "replace")).strip(),
            )
