"""Orders about hosts: what a person has said of one while crawls run, and what counts when masters know different ones.

An order says how far apart requests to a host are to be, in place of what its jobs say, and whether it is asked at all.
All masters know all orders, and whoever asks the host obeys: its owner, the next one, and whoever borrows it. Either
part has a version of its own, and the greater one counts; of two with the same version, made on both sides of a
partition, the one that asks the host less. So what masters know merges in any order to the same, and two people who
change different parts do not undo each other. An order that was taken back stays, as a word for those who know it only
as it was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from math import inf

from p2pcrawl.model.cluster.host_order import HostOrder

Orders = Mapping[str, HostOrder]
"""By the names of hosts."""


def merged_order(one: HostOrder, other: HostOrder) -> HostOrder:
    """Returns what counts of two orders about one host."""
    delays = [(each.delay_version, -inf if each.delay_s is None else each.delay_s) for each in (one, other)]
    version, seconds = max(delays)
    pause_version, paused = max((one.pause_version, one.paused), (other.pause_version, other.paused))
    return HostOrder(one.host, version, None if seconds == -inf else seconds, pause_version, paused)


def joined_orders(known: Orders, told: Iterable[HostOrder]) -> dict[str, HostOrder]:
    """Returns those of the orders that were told, merged with what is known, that are news."""
    news: dict[str, HostOrder] = {}
    for order in told:
        before = news.get(order.host) or known.get(order.host)
        after = order if before is None else merged_order(before, order)
        if after != before:
            news[order.host] = after
    return news


def slower(order: HostOrder, delay_s: float | None) -> HostOrder:
    """Returns an order that says another delay, or with None leaves it to the jobs."""
    return order._replace(delay_version=order.delay_version + 1, delay_s=delay_s)


def halted(order: HostOrder, *, paused: bool) -> HostOrder:
    """Returns an order by which the host is asked, or not."""
    return order._replace(pause_version=order.pause_version + 1, paused=paused)


def orders_mark(orders: Orders) -> bytes:
    """Returns a short value that is equal at all masters that know the same orders; empty where there are none."""
    if not orders:
        return b""
    return blake2b(repr([tuple(orders[host]) for host in sorted(orders)]).encode(), digest_size=8).digest()
