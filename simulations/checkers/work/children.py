"""Done implies children safe, at every moment: whoever says that a page is done, all that it led to is on some disk.

Looked at on all disks that there are, those of crashed masters too, after each loss and every now and then between.
When the masters say that every copy is where it should be, a page that is done on enough disks has its links on enough.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulations.observe.folders import DONE, QUEUED, Print, print_of
from simulations.observe.inventory import Inventory
from simulations.play.evidence import Evidence, listed


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
        for page, held in now.held.items():
            if held.phase != DONE or page not in children or (page in known_safe and not now.whole):
                continue
            away = [link for link in children[page] if link not in now.held and link not in told_elsewhere]
            if away:
                missing.append(f"{names[page]} is done, and {listed(sorted(names[link] for link in away))}")
                continue
            known_safe.add(page)
            if now.whole and held.through >= now.whole:
                held_links = [link for link in children[page] if link in now.held and link not in told_elsewhere]
                thin = [link for link in held_links if now.held[link].disks < now.whole]
                if thin:
                    fewer.append(f"{names[page]} on {held.through}, {names[thin[0]]} on {now.held[thin[0]].disks}")
        if missing:
            yield f"at {now.now_s:.2f} s, {missing[0]} is on no disk; {len(missing)} such pages"
        if fewer:
            yield f"at {now.now_s:.2f} s, with all copies said to be whole: {fewer[0]} disks; {len(fewer)} such pages"


def _of_unfinished(now: Inventory, children: dict[Print, list[Print]]) -> set[Print]:
    """Returns what pages link to that have not ended, and will tell it (again).

    Such a page may have told a link first, and waits till that is safe; another that leads to it, too, leaves the
    telling to it, and may be done before (docs/guarantees.md says so).
    """
    unfinished = (page for page, held in now.held.items() if held.phase == QUEUED and page in children)
    return {link for page in unfinished for link in children[page]}
