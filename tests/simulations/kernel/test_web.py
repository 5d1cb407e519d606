"""The simulated web: what is known of it, and what it answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from simulations.world.web import TRIES_MAX, Kind, Web, WebPlan


def test_a_seed_fixes_every_page_and_another_seed_makes_another_web() -> None:
    one, same, other = (Web(seed, WebPlan(pages=200, hosts=12)) for seed in (3, 3, 4))

    assert one.pages == same.pages
    assert one.pages != other.pages


def test_hosts_have_sizes_by_a_zipf_law_and_all_pages_are_given_out() -> None:
    web = Web(1, WebPlan(pages=1000, hosts=50))

    sizes = [len(host.pages) for host in web.hosts.values()]

    assert sum(sizes) == len(web.pages) == 1000
    assert sizes[0] > 5 * sizes[25] > 0
    assert min(sizes) >= 1


def test_all_pages_are_reachable_while_nothing_is_barred_and_fewer_when_the_start_is() -> None:
    web = Web(5, WebPlan(pages=300, hosts=20))

    assert web.reachable() == set(web.pages)
    assert web.reachable(frozenset({web.start})) == {web.start}


def test_private_hosts_are_called_by_their_addresses_and_start_urls_open_every_other_one() -> None:
    web = Web(5, WebPlan(pages=300, hosts=20, private=1.0, dead_hosts=0.0))

    named = [host for host in web.hosts.values() if host.open]
    assert web.starts == [f"http://{host.name}/" for host in named] and len(named) == 10
    assert all(host.private and host.name == host.ip for host in web.hosts.values())
    hidden = [page for page in web.pages.values() if not web.hosts[page.host].open]
    assert hidden and not any(web.opens(page) or web.answers(page.url) for page in hidden)


def test_webs_are_what_they_were_where_nothing_is_private() -> None:
    usual, listed = Web(5, WebPlan(pages=300, hosts=20)), Web(5, WebPlan(pages=300, hosts=20, listed=1.0))

    assert usual.starts == [usual.start]
    assert [page.url for page in listed.pages.values()] == [page.url for page in usual.pages.values()]
    assert len(listed.pages[listed.start].links) > len(usual.pages[usual.start].links)


def test_pages_that_are_left_out_are_led_to_by_nobody_and_the_others_are_as_they_were() -> None:
    plan = WebPlan(pages=120, hosts=8, redirect=0.3)
    whole, part = Web(5, plan), Web(5, replace(plan, only="3-40 77"))

    urls = list(whole.pages)
    assert set(part.pages) <= {urls[number] for number in (0, *range(3, 41), 77)}
    assert part.start == whole.start and part.start in part.pages
    for url, page in part.pages.items():
        assert page.links == [link for link in whole.pages[url].links if link in part.pages]
        assert page.kind is not Kind.REDIRECT or page.links
        assert part.reply(url) == whole.reply(url) or page.links != whole.pages[url].links


@pytest.mark.parametrize("text", ["a", "1-", "-1", "1-b", "3,4"])
def test_numbers_of_pages_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="only has numbers of pages"):
        WebPlan(only=text)


def test_flaky_pages_fail_as_often_as_they_should_and_answer_then() -> None:
    web = Web(2, WebPlan(pages=600, hosts=10, flaky=0.3, dead_hosts=0.0))
    flaky = [page for page in web.pages.values() if page.kind is Kind.FLAKY]

    for page in flaky:
        for _ in range(page.failures):
            reply = web.reply(page.url)
            assert reply.failure or reply.status >= 500
        assert web.reply(page.url).status == 200

    assert {page.failures for page in flaky} == set(range(1, TRIES_MAX + 1))


def test_an_answer_does_not_depend_on_requests_elsewhere() -> None:
    quiet, busy = (Web(7, WebPlan(pages=50, hosts=5)) for _ in range(2))
    url, *others = list(quiet.pages)

    for other in others:
        busy.reply(other)

    assert quiet.reply(url) == busy.reply(url)


def test_pages_are_of_all_kinds_and_robots_forbids_the_forbidden_ones() -> None:
    web = Web(9, WebPlan(pages=1500, hosts=30, dead_hosts=0.2))

    kinds = Counter(page.kind for page in web.pages.values())
    forbidden = [page for page in web.pages.values() if page.kind is Kind.FORBIDDEN]
    robots = web.reply("http://h0.web.test/robots.txt").body

    assert all(kinds[kind] for kind in Kind)
    assert b"Disallow: /private/" in robots
    assert all("/private/" in page.url for page in forbidden)
    assert any(host.dead for host in web.hosts.values())
    assert any(host.delay_s for host in web.hosts.values())
