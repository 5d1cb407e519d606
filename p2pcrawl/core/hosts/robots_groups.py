"""The groups of a robots.txt: which of its lines speak to an agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

Lines = list[tuple[str, str]]
"""Fields, in lower case, and their values."""

_AGENT_LINE: Final = re.compile(r"\s*user[- ]?agent(?:\s*:|\s)\s*(.*)", re.IGNORECASE)


def lines_for(body: str, agent: str, rule: re.Pattern[str]) -> tuple[Lines | None, Lines]:
    """Returns the lines of all groups that name ``agent`` best, None when no group speaks to it; and those that stand
    before any group. ``rule`` matches a line that counts: its field and its value.
    """
    groups: dict[str, Lines] = {}
    best, score = "", 0
    outside: Lines = []
    named: dict[str, Lines] = {}
    """Those that the lines at hand belong to: by tokens, which an agent has few of, however many lines name it."""
    in_names = begun = False
    agent = agent.strip().lower()
    for line in _lines(body):
        if match := _AGENT_LINE.match(line):
            if not in_names:
                named, in_names, begun = {}, True, True
            token = _token(match[1].strip().lower())
            if points := _score(token, agent):
                named[token] = groups.setdefault(token, [])
                if points > score:
                    best, score = token, points
        elif match := rule.match(line):
            in_names = False
            entry = (match[1].lower(), match[2].strip())
            for group in named.values():
                group.append(entry)
            if not begun:
                outside.append(entry)
    return (groups[best] if score else None), outside


def _token(name: str) -> str:
    """Returns the part of a group's name that counts: without a version."""
    return name if name == "*" else name.partition("/")[0].strip(" *")


def _score(token: str, agent: str) -> int:
    """Returns how well a group's name fits an agent: 0 not at all, 1 for ``*``, else by length."""
    if token == "*":  # nosec B105  # A name in robots.txt.
        return 1
    at = agent.find(token) if token else -1
    while at >= 0:
        after = at + len(token)
        if not (at and _is_word(agent[at - 1])) and not (after < len(agent) and _is_word(agent[after])):
            return 1 + len(token)
        at = agent.find(token, at + 1)
    return 0


def _is_word(character: str) -> bool:
    return character.isalnum() or character in "-_"


def _lines(body: str) -> Iterator[str]:
    for line in body.splitlines():
        text = line.partition("#")[0].strip()
        if text:
            yield text
