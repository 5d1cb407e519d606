"""Hosts as several masters tell of them, merged."""

from __future__ import annotations

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.peer.figures.hosts_told import merged_hosts
from p2pcrawl.peer.figures.standings_of_hosts import HostAsked, first_hosts

ONE, TWO = NodeId("1" * 40), NodeId("2" * 40)


def host(name: str, queued: int, through_s: float | None = None, owner: NodeId = ONE, why: str = "") -> HostAsked:
    return HostAsked(
        host=name, key=hash(name), queued=queued, leased=0, done=1, failed=0, owner=owner, delay_s=0.0,
        delay_from="none", next_at=None, through_s=through_s, unanswered=0, silent_s=0.0,
        ordered_s=None, paused=False, why_slow=why,
    )  # fmt: skip


def test_host_at_several_masters_is_added_up_and_its_owner_says_why_it_is_slow() -> None:
    (merged,) = merged_hosts({ONE: [host("a", 3, owner=TWO, why="?")], TWO: [host("a", 4, owner=TWO, why="robots")]})

    assert (merged["queued"], merged["done"], merged["why_slow"]) == (7, 2, "robots")


def test_first_hosts_are_the_deepest_or_the_latest_or_by_name() -> None:
    hosts = [host("b", 9), host("c", 5, 50.0), host("a", 2, 900.0)]

    names = {sort: [row["host"] for row in first_hosts(hosts, 2, sort)] for sort in ("depth", "late", "name")}

    assert names == {"depth": ["b", "c"], "late": ["a", "c"], "name": ["a", "b"]}
