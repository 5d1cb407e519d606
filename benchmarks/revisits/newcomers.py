"""New pages of quiet and of lively hosts: ``python -m benchmarks.revisits.newcomers``.

Each host has pages that have been visited for ten days, in virtual time, when as many new ones come. Of a *quiet* host
no page ever changes, of a *lively* one each gets something new every half an hour to two hours, by chance; of a
*mixed* one nine in ten never change, and the tenth is a lively one. Told is how often each new page is asked in its
first week, and how late what is new there is found: with what its like have been, and by its own history alone.
"""

from __future__ import annotations

import argparse
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import NamedTuple

from benchmarks.kit.measure import Claims
from p2pcrawl.core.revisits.periods import Periods
from p2pcrawl.model.page_past import ADAPTIVE
from simulations.news.asking import Asking

DAY_S = 86_400
NOW = 1_800_000_000
KNOWN_DAYS, NEW_DAYS = 10, 7
HOSTS = {"quiet": 0.0, "lively": 1.0, "mixed": 0.1}
"""The share of lively pages."""


class Told(NamedTuple):
    """The cost of the new pages of a host, and how late they were read."""

    visits: float
    """Of each, in its first week."""
    delay_s: float


def newcomers(host: str, pages: int, seed: int, *, alone: bool) -> Told:
    """Visits the pages of a host; the second half of them is new after ten days."""
    dice, asking = Random(seed), Asking(Periods(ADAPTIVE, 0, 300, 30 * DAY_S, 0), alone=alone)
    every_s = [dice.uniform(1_800, 7_200) if number < HOSTS[host] * pages else inf for number in range(pages)] * 2
    changes_at = [NOW + dice.expovariate(1 / every) if every < inf else inf for every in every_s]
    new_at, end = NOW + KNOWN_DAYS * DAY_S, NOW + (KNOWN_DAYS + NEW_DAYS) * DAY_S
    queue = [(NOW if number < pages else new_at, number) for number in range(2 * pages)]
    visits, delay_s, found = 0, 0.0, 0
    seen = [False] * len(every_s)
    while queue and queue[0][0] < end:
        at, number = heappop(queue)
        changed = False
        while changes_at[number] <= at:
            if seen[number] and number >= pages:
                delay_s += at - changes_at[number]
                found += 1
            changed = True
            changes_at[number] += dice.expovariate(1 / every_s[number])
        seen[number] = True
        visits += number >= pages
        heappush(queue, (asking.due(f"http://{host}.example/topic/{number}", at, changed=changed), number))
    return Told(visits / pages, delay_s / found if found else 0.0)


def measured(pages: int, seed: int) -> Claims:
    """Holds new pages of hosts against each other, and against those whose host is not looked at."""
    claims = Claims(f"newcomers: {pages} new pages of hosts with as many known ones, seed {seed}")
    with_like = {host: newcomers(host, pages, seed, alone=False) for host in HOSTS}
    for host, told in with_like.items():
        before = newcomers(host, pages, seed, alone=True)
        claims.note(f"{host}: visits in the first week, mean delay s", f"{told.visits:.1f}  {told.delay_s:,.0f}")
        claims.note(f"{host}, by its own history alone", f"{before.visits:.1f}  {before.delay_s:,.0f}")
    share = with_like["quiet"].visits / with_like["lively"].visits
    claims.claim("visits of a new page, a quiet host beside a lively one", f"{share:.2f}", share <= 0.2, "<= 0.2")
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return measured(options.pages, options.seed).print()


if __name__ == "__main__":
    raise SystemExit(main())
