"""The failures of a job by kind as masters tell of them, added up."""

from __future__ import annotations

from p2pcrawl.peer.figures.troubles import FailedKind, FailedPage, merged_kinds


def page(host: str, of_host: int = 1) -> FailedPage:
    return FailedPage(url=f"http://{host}/", host=host, at=1, status=500, detail="", of_host=of_host)


def kind(name: str, count: int, hosts: int, *examples: FailedPage) -> FailedKind:
    return FailedKind(kind=name, count=count, hosts=hosts, examples=list(examples))


def test_counts_and_hosts_add_up_and_hosts_with_most_are_examples() -> None:
    one = [kind("dns", 5, 2, page("a", 4), page("b", 1))]
    other = [kind("dns", 3, 1, page("c", 3)), kind("tls", 9, 1, page("d", 9))]

    tls, dns = merged_kinds([one, other], 2)

    assert (tls["kind"], tls["count"]) == ("tls", 9)
    assert (dns["count"], dns["hosts"], [each["host"] for each in dns["examples"]]) == (8, 3, ["a", "c"])


def test_host_whose_pages_are_at_several_masters_is_counted_once() -> None:
    one, other = [kind("dns", 5, 1, page("a", 5))], [kind("dns", 3, 1, page("a", 3))]

    (dns,) = merged_kinds([one, other], 3, hosts_apart=False)

    assert (dns["count"], dns["hosts"]) == (8, 1)
    assert [(each["host"], each["of_host"]) for each in dns["examples"]] == [("a", 8)]


def test_pages_whose_hosts_nobody_has_counted_are_of_none() -> None:
    one, other = [kind("duplicate", 5, 0, page("a", 0))], [kind("duplicate", 3, 0, page("a", 0))]

    (duplicate,) = merged_kinds([one, other], 3)

    assert (duplicate["count"], duplicate["hosts"], len(duplicate["examples"])) == (8, 0, 1)
