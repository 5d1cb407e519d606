"""The plan of the synthetic site: which pages there are, what each does, and where its links go.

Everything follows from the seed. The truth that a crawl is checked against is found by walking the plan, never by
parsing what is served, so that one mistake cannot hide on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from random import Random


class Does(StrEnum):
    """A page's way of answering."""

    SHOW = "show"
    REDIRECT = "redirect"
    MISSING = "missing"
    """404, or 410."""
    BREAK = "break"
    """500, always."""
    RECOVER = "recover"
    """503 or 429 with Retry-After at first, then the page."""
    HIDE = "hide"
    """A page that robots.txt closes."""


# Of each thousand pages; the rest simply show. Every kind occurs at least once in a site of 200 pages.
SHARES = {Does.REDIRECT: 35, Does.MISSING: 20, Does.BREAK: 5, Does.RECOVER: 5, Does.HIDE: 20}
BEHIND_SHARE = 10
"""Pages of a thousand that only hidden pages link to: a correct crawl never learns of them."""

CLOSED_HOSTS_STEP = 5
"""Every fifth host closes /private/ in its robots.txt."""
SLOW_HOSTS_STEP = 10
FANOUT = 3
LINKS_MIN, LINKS_MAX = 8, 18


@dataclass(slots=True)
class PlannedPage:
    """One URL of the site."""

    number: int
    host: int
    path: str
    does: Does
    status: int = 200
    latency_s: float = 0.0
    links: list[int] = field(default_factory=list)
    """Numbers of the pages it links to; a redirect has one."""


def plan_site(pages: int, hosts: int, seed: int) -> list[PlannedPage]:
    """Draws all pages of a site; the crawl begins at number 0, on host 0."""
    dice = Random(f"p2pcrawl-demo-{seed}")
    plan = [_page(number, does, hosts, dice) for number, does in enumerate(_kinds(pages, dice))]
    shown = [p.number for p in plan if p.does is Does.SHOW]
    behind = set(dice.sample(shown[1:], max(1, len(shown) * BEHIND_SHARE // 1000)))
    public = [number for number in shown if number not in behind]
    covered = _lay_redirects(plan, public, dice)
    _lay_links(plan, public, sorted(behind), covered, dice)
    return plan


def reachable(plan: Sequence[PlannedPage]) -> set[int]:
    """Returns the pages that an obedient crawl from page 0 learns of, the closed and the failing ones too."""
    known, waiting = {0}, [0]
    while waiting:
        page = plan[waiting.pop()]
        if page.does is Does.HIDE:
            continue
        for number in page.links:
            if number not in known:
                known.add(number)
                waiting.append(number)
    return known


def _kinds(pages: int, dice: Random) -> list[Does]:
    special = [does for does, share in SHARES.items() for _ in range(max(1, pages * share // 1000))]
    kinds = special + [Does.SHOW] * (pages - 1 - len(special))
    dice.shuffle(kinds)
    return [Does.SHOW, *kinds]


def _page(number: int, does: Does, hosts: int, dice: Random) -> PlannedPage:
    host = number % hosts
    if does is Does.HIDE:
        host -= host % CLOSED_HOSTS_STEP
    page = PlannedPage(number, host, _path(number, does), does)
    page.latency_s = 0.05 if host % SLOW_HOSTS_STEP == 3 else dice.random() * 0.005
    match does:
        case Does.SHOW:
            page.latency_s = 0.3 if dice.random() < 0.004 else page.latency_s
        case Does.REDIRECT:
            page.status = dice.choice((301, 302, 302, 307, 308))
        case Does.MISSING:
            page.status = dice.choice((404, 404, 404, 410))
        case Does.BREAK:
            page.status = 500
        case Does.RECOVER:
            page.status = dice.choice((503, 503, 429))
        case Does.HIDE:
            pass
    return page


def _path(number: int, does: Does) -> str:
    """Paths of several shapes: folders, queries, percent-escapes."""
    if number == 0:
        return "/"
    if does is Does.HIDE:
        return f"/private/{number}.html"
    if does is Does.REDIRECT:
        return f"/go/{number}"
    folder = f"/s{number % 7}"
    match number % 11:
        case 3:
            return f"{folder}/view?id={number}&lang=en"
        case 5:
            return f"{folder}/caf%C3%A9-{number}.html"
        case 8:
            return f"{folder}/deep/er/{number}/"
        case _:
            return f"{folder}/p{number}.html"


def _lay_redirects(plan: Sequence[PlannedPage], public: Sequence[int], dice: Random) -> dict[int, int]:
    """Joins the redirects into chains of one to three hops. Returns which public page hides behind which chain.

    The first chain ends at a missing page, the second at one that robots.txt closes.
    """
    redirects = [p.number for p in plan if p.does is Does.REDIRECT]
    ends = iter(dice.sample(public[1:], min(len(redirects), len(public) - 1)))
    missing = [p.number for p in plan if p.does is Does.MISSING]
    hidden = [p.number for p in plan if p.does is Does.HIDE]
    covered = {}
    for rank, chain in enumerate(_chains(redirects, dice)):
        for here, there in pairwise(chain):
            plan[here].links = [there]
        if rank < 2:
            end = dice.choice((missing, hidden)[rank])
        else:
            end = next(ends)
            covered[end] = chain[0]
        plan[chain[-1]].links = [end]
    return covered


def _chains(redirects: Sequence[int], dice: Random) -> Iterator[Sequence[int]]:
    begin = 0
    while begin < len(redirects):
        length = dice.choice((1, 1, 1, 2, 3))
        yield redirects[begin : begin + length]
        begin += length


def _lay_links(
    plan: Sequence[PlannedPage], public: Sequence[int], behind: Sequence[int], covered: dict[int, int], dice: Random
) -> None:
    """Lays a tree over the public pages, so that all can be reached, and random links besides.

    A page that is covered by a chain of redirects is linked by way of the chain only.
    """
    entries = [covered.get(number, number) for number in public]
    open_entries = [n for n in entries if plan[n].does is Does.SHOW]
    for rank, number in enumerate(public):
        links = entries[FANOUT * rank + 1 : FANOUT * rank + 1 + FANOUT]
        wanted = dice.randint(LINKS_MIN, LINKS_MAX)
        plan[number].links = links + dice.choices(open_entries, k=max(0, wanted - len(links)))
    later_hops = {n for page in plan if page.does is Does.REDIRECT for n in page.links}
    for page in plan:
        if page.does is Does.SHOW or (page.does is Does.REDIRECT and page.number in later_hops):
            continue
        for number in dice.sample(public, 2):
            plan[number].links.insert(dice.randrange(len(plan[number].links) + 1), page.number)
    hidden = [p for p in plan if p.does is Does.HIDE]
    for page in plan:
        if page.does is Does.RECOVER or page.does is Does.HIDE:
            page.links = dice.sample(open_entries, min(8, len(open_entries)))
    for rank, number in enumerate(behind):
        hidden[rank % len(hidden)].links.append(number)
