"""The statements of a site that hold for parts of it: lines of robots.txt and the rules of ``tdmrep.json``.

A rule has a path pattern, as robots.txt knows them (``*``, ``$``). Of the rules of a kind those with the longest
pattern that fits a page speak of it; of ``tdmrep.json`` the first. Texts are hostile: rules and wildcards are bounded,
and a bound is met by forbidding more, never less.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from p2pcrawl.core.hosts.robots_groups import lines_for
from p2pcrawl.core.usage.said import POLICY_MAX, Statement
from p2pcrawl.core.usage.vocabulary import content_signal, content_usage
from p2pcrawl.model.crawl.purpose import Purpose
from p2pcrawl.model.outcome import Drop

RULES_MAX: Final = 200
"""Of a kind, for one site."""
PATTERN_MAX: Final = 500
WILDCARDS_MAX: Final = 10
TDM_FILE: Final = "/.well-known/tdmrep.json"
TDM_FILE_MAX: Final = 64 * 1024

TDM_PURPOSES: Final = (Purpose.AI_INPUT, Purpose.AI_TRAIN)
"""Text and data mining: not the index of a search."""

_LINE: Final = re.compile(
    r"\s*(allow|disallow|crawl-delay|request-rate|content-signal|content-usage|tdm-rule)\s*:\s*(.*)", re.IGNORECASE
)
_TDM_LINE: Final = re.compile(r"([01]) (/\S*)(?: (\S+))?\Z").match
_KINDS: Final[dict[str, tuple[Drop, Callable[[str], dict[Purpose, bool]]]]] = {
    "content-signal": (Drop.CONTENT_SIGNAL, content_signal),
    "content-usage": (Drop.CONTENT_USAGE, content_usage),
}


class PathPattern:
    """A path pattern of robots.txt. Matching one costs as much as looking for its parts, whatever they are."""

    __slots__ = ("_anchored", "_parts", "size")

    def __init__(self, text: str) -> None:
        text = plain_path(text)
        self.size = len(text)
        self._anchored = text.endswith("$")
        self._parts = text.removesuffix("$").split("*")

    def fits(self, path: str) -> bool:
        """Tells whether a path, as :func:`plain_path` writes it, begins as the pattern wants."""
        first, *rest = self._parts
        if not path.startswith(first):
            return False
        at = len(first)
        for part in rest[:-1] if self._anchored else rest:
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if not self._anchored:
            return True
        last = rest[-1] if rest else ""
        return path.endswith(last) and len(path) - len(last) >= at if rest else at == len(path)


@dataclass(frozen=True, slots=True)
class SiteRule:
    """A statement about the pages that a pattern fits."""

    pattern: PathPattern
    signal: Statement


class SiteUsage:
    """All statements of one site, asked page by page."""

    __slots__ = ("_longest", "_tdm")

    def __init__(self, longest: dict[Drop, list[SiteRule]], tdm: list[SiteRule]) -> None:
        self._longest = [sorted(rules, key=lambda rule: -rule.pattern.size) for rules in longest.values()]
        self._tdm = tdm

    def signals(self, path: str) -> list[Statement]:
        """Returns what is said about the page with this path (and query)."""
        if not self._longest and not self._tdm:
            return []
        path = plain_path(path)
        found: list[Statement] = []
        for rules in self._longest:
            size = -1
            for rule in rules:
                if rule.pattern.size < size:
                    break
                if rule.pattern.fits(path):
                    size = rule.pattern.size
                    found.append(rule.signal)
        for rule in self._tdm:
            if rule.pattern.fits(path):
                found.append(rule.signal)
                break
        return found


def site_usage(body: str, agent: str) -> SiteUsage | None:
    """Reads the lines of a robots.txt that speak to ``agent`` about uses, and the lines that :func:`tdm_lines` made;
    None when there are none.
    """
    own, outside = lines_for(body, agent, _LINE)
    longest: dict[Drop, list[SiteRule]] = {}
    tdm: list[SiteRule] = []
    for field, value in [*outside, *(own or ())]:
        if field == "tdm-rule":
            if len(tdm) <= RULES_MAX:
                tdm += _tdm_rule(value, full=len(tdm) == RULES_MAX)
        elif kind := _KINDS.get(field):
            by, read = kind
            rules = longest.setdefault(by, [])
            rules += _rule(by, field, value, read, rules)
    return SiteUsage(longest, tdm) if longest or tdm else None


def _rule(
    by: Drop, field: str, value: str, read: Callable[[str], dict[Purpose, bool]], known: list[SiteRule]
) -> Iterator[SiteRule]:
    """Yields the rule that a line is. Where there are too many, one that forbids holds for the whole site, and those
    that forbid nothing new are left out.
    """
    path, words = "/", value
    if value.startswith("/"):
        path, _, words = value.replace("\t", " ").partition(" ")
    verdicts = read(words)
    if not verdicts:
        return
    if len(known) >= RULES_MAX:
        path, verdicts = "/", {purpose: False for purpose in _forbidden(verdicts) - _forbidden_beyond(known)}
        if not verdicts:
            return
    signal = Statement(by, "robots.txt", f"{field.title()}: {value}", verdicts)
    pattern = _bounded(path, forbids=not all(verdicts.values()))
    if pattern is not None:
        yield SiteRule(pattern, signal)


def _forbidden(verdicts: Mapping[Purpose, bool]) -> set[Purpose]:
    return {purpose for purpose, allowed in verdicts.items() if not allowed}


def _forbidden_beyond(rules: list[SiteRule]) -> set[Purpose]:
    """Returns what is forbidden by rules that are too many already."""
    return {purpose for rule in rules[RULES_MAX:] for purpose in rule.signal.verdicts}


def _tdm_rule(value: str, *, full: bool) -> Iterator[SiteRule]:
    """Yields the rule that a line is. ``full``: there are too many, so that one that reserves is for the whole site."""
    if match := _TDM_LINE(value):
        reserved, location, policy = match[1] == "1", match[2], match[3] or ""
        if full:
            if not reserved:
                return
            location = "/"
        said = f"tdm-reservation {match[1]} for {location}"
        signal = Statement(Drop.TDM, TDM_FILE, said, dict.fromkeys(TDM_PURPOSES, not reserved), policy)
        if pattern := _bounded(location, forbids=reserved):
            yield SiteRule(pattern, signal)


def _bounded(path: str, *, forbids: bool) -> PathPattern | None:
    """Returns the pattern; of one that is too long or has too many wildcards its beginning if it forbids, else None."""
    path = re.sub(r"\*{2,}", "*", path)
    if len(path) <= PATTERN_MAX and path.count("*") <= WILDCARDS_MAX:
        return PathPattern(path)
    return PathPattern(path[:PATTERN_MAX].partition("*")[0]) if forbids else None


def tdm_lines(content: bytes) -> str:
    """Rewrites a ``tdmrep.json`` as lines that can stand in a robots.txt, one for each rule; "" for what is none."""
    try:
        rules: Any = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    if isinstance(rules, dict):
        rules = [rules]
    return "".join(_tdm_lines(rules)) if isinstance(rules, list) else ""


def _tdm_lines(rules: Iterable[Any]) -> Iterator[str]:
    number = 0
    for rule in rules:
        if not isinstance(rule, dict):
            continue
        location, reserved = rule.get("location"), str(rule.get("tdm-reservation"))
        if not isinstance(location, str) or reserved not in ("0", "1"):
            continue
        number += 1
        if number > RULES_MAX or len(location) > PATTERN_MAX:
            if reserved == "0":
                continue
            location = location[:PATTERN_MAX].partition("*")[0] if number <= RULES_MAX else "/"
        policy = rule.get("tdm-policy")
        policy = f" {_one_word(policy[:POLICY_MAX])}" if isinstance(policy, str) and policy.strip() else ""
        yield f"TDM-Rule: {reserved} /{_one_word(location.strip().removeprefix('/'))}{policy}\n"
        if number > RULES_MAX:
            return


def _one_word(text: str) -> str:
    return quote(text.strip().encode("utf-8", "replace"), safe="/:?&=%*$~+,;@!'()[]-._")


_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def plain_path(path: str) -> str:
    """Returns a path in the spelling in which paths and patterns are compared: what needs no escape has none."""
    if not path.isascii():
        path = quote(path.encode("utf-8", "replace"), safe="/:?&=%*$~+,;@!'()[]-._#|^`{}<>\"\\ ")
    return _ESCAPE.sub(_spelled, path) if "%" in path else path


def _spelled(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()
