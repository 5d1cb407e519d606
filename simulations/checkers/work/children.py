"""Done implies children safe, at every moment: whoever says that a page is done, all that it led to is on some disk.

Looked at on all disks that there are, those of crashed masters too, after each loss and every now and then between. A
link that whoever found it keeps, for want of copies elsewhere, is on that disk.
When the masters say that every copy is where it should be, a page that is done on enough disks has its links on enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from ...observe.folders import DONE, QUEUED, Print, print_of
from ...observe.inventory import Inventory
from ...play.evidence import Evidence, listed


def check(evidence: Evidence) -> Iterator[str]:
    web = evidence.web
    children = {print_of(url): [print_of(link) for link in page.links] for url, page in web.pages.items()}
    names = {print_of(url): url for url in web.pages}
    known_safe: set[Print] = set()
    for now in evidence.inventories:
        if now.lost:
            known_safe.clear()
        told_elsewhere = _of_unfinished(now, children)
        missing, fewer = [], []
        for page in _to_look_at(now, children, known_safe):
            links = [link for link in children[page] if link not in told_elsewhere and not evidence.is_destroyed(link)]
            if away := [link for link in links if link not in now.held and link not in now.spooled]:
                missing.append(f"{names[page]} is done, and {listed(sorted(names[link] for link in away))}")
                continue
            known_safe.add(page)
            if thin := _thinner(now, page, links):
                fewer.append(
                    f"{names[page]} on {now.held[page].through}, {names[thin[0]]} on {now.held[thin[0]].disks}"
                )
        if missing:
            yield f"at {now.now_s:.2f} s, {missing[0]} is on no disk; {len(missing)} such pages"
        if fewer:
            yield f"at {now.now_s:.2f} s, with all copies said to be whole: {fewer[0]} disks; {len(fewer)} such pages"


def _to_look_at(now: Inventory, children: Mapping[Print, list[Print]], known_safe: Set[Print]) -> list[Print]:
    """Returns the pages that are done, without those that are known to be safe as long as nobody counts disks."""
    done = [page for page, held in now.held.items() if held.phase == DONE and page in children]
    return done if now.whole else [page for page in done if page not in known_safe]


def _thinner(now: Inventory, page: Print, links: list[Print]) -> list[Print]:
    """Returns the links that are on fewer disks than there are to be, though their page is on enough."""
    if not now.whole or now.held[page].through < now.whole:
        return []
    return [link for link in links if now.held[link].disks < now.whole]


def _of_unfinished(now: Inventory, children: dict[Print, list[Print]]) -> set[Print]:
    """Returns what pages link to that have not ended, and will tell it (again).

    Such a page may have told a link first, and waits till that is safe; another that leads to it, too, leaves the
    telling to it, and may be done before (docs/guarantees.md says so).
    """
    unfinished = (page for page, held in now.held.items() if held.phase == QUEUED and page in children)
    return {link for page in unfinished for link in children[page]}
