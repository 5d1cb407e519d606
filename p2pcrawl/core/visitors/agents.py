"""User agents drawn by weight, and the headers that such a client sends beside its name.

Who is drawn follows from a name, that of a host or a session: a host sees one client, and not another one with each
page. Chromium tells of itself in client hints, over https; Firefox and Safari do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from itertools import accumulate
from typing import Final

_CHROMIUM: Final = re.compile(r" (?:Chrome|Chromium)/(\d{1,4})\.")
_BRANDS: Final = (("Edg", "Microsoft Edge"), ("OPR", "Opera"), ("Chrome", "Google Chrome"))
_PLATFORMS: Final = (
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "Chrome OS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
_ACCEPTS: Final = {
    "chromium": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
    "firefox": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "safari": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
}


class AgentDraw:
    """Draws agents by their weights; the same name always draws the same one."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._agents = list(weights)
        self._sums = list(accumulate(weights.values()))

    def of(self, name: str) -> str:
        """Returns the agent that a name draws."""
        point = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") / 2**64 * self._sums[-1]
        for agent, upto in zip(self._agents, self._sums, strict=True):
            if point < upto:
                return agent
        return self._agents[-1]


def matching_headers(agent: str, *, secure: bool) -> dict[str, str]:
    """Returns the headers that a client of this name sends with a page's request; none for one that is no browser."""
    version = _CHROMIUM.search(agent)
    if version is None:
        kind = "firefox" if " Firefox/" in agent else "safari" if " Version/" in agent and " Safari/" in agent else ""
        return {"Accept": _ACCEPTS[kind], "Upgrade-Insecure-Requests": "1"} if kind else {}
    headers = {"Accept": _ACCEPTS["chromium"], "Upgrade-Insecure-Requests": "1"}
    if secure:
        brand = next(name for mark, name in (*_BRANDS, ("", "Chromium")) if f"{mark}/" in agent or not mark)
        number = re.search(rf" {brand_mark(brand)}/(\d{{1,4}})", agent)
        own = number[1] if number else version[1]
        platform = next((name for mark, name in _PLATFORMS if mark in agent), "Unknown")
        headers |= {
            "Sec-CH-UA": f'"Chromium";v="{version[1]}", "{brand}";v="{own}", "Not_A Brand";v="24"',
            "Sec-CH-UA-Mobile": "?1" if " Mobile " in agent else "?0",
            "Sec-CH-UA-Platform": f'"{platform}"',
        }
    return headers


def brand_mark(brand: str) -> str:
    """Returns the mark by which user agents of this brand are known."""
    return next((mark for mark, name in _BRANDS if name == brand), "Chromium")
