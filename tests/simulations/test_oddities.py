"""Odd webs are known as well as plain ones: what their hosts answer, and how each page has to end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from p2pcrawl.core.hosts.retry_after import retry_after_s
from simulations.draws.oddities import drawn_oddities
from simulations.play.options import Options
from simulations.whole.plan import Plan
from simulations.whole.simulation import Simulation
from simulations.world.web import NOON, Kind, Robots, Web, WebPlan

ODD = WebPlan(pages=60, hosts=8, odd_robots=1.0, outages=0.4, slow_hosts=0.2, busy=0.9, flaky=0.3, far_redirects=1.0)


def test_a_web_without_oddities_is_what_it_was() -> None:
    plain, odd = Web(4, WebPlan(pages=60, hosts=8)), Web(4, WebPlan(pages=60, hosts=8, odd_robots=1.0, outages=1.0))

    assert plain.pages == odd.pages
    assert all(host.robots is Robots.PLAIN and host.away_s == (0.0, 0.0) for host in plain.hosts.values())
    assert all(host.robots is not Robots.PLAIN for host in list(odd.hosts.values())[1:])


def test_what_a_busy_host_asks_for_is_what_its_answer_says() -> None:
    web = Web(4, ODD)
    flaky = [page.url for page in web.pages.values() if page.kind is Kind.FLAKY]
    replies = [reply for url in flaky for reply in (web.reply(url), web.reply(url)) if reply.status in (429, 503)]

    told = [retry_after_s(reply.headers, NOON) or 0.0 for reply in replies]
    assert told == [reply.retry_after_s for reply in replies]
    assert {"Date" in reply.headers for reply in replies if reply.retry_after_s} == {True, False}
    assert 0.0 in told


def test_a_host_is_away_for_a_while_and_comes_back() -> None:
    web = Web(4, replace(ODD, outages=1.0))
    host = list(web.hosts.values())[1]
    begins_s, ends_s = host.away_s

    answers = [web.reply(host.pages[0].url, now_s).failure for now_s in (begins_s - 1.0, begins_s + 0.1, ends_s + 1.0)]

    assert [bool(failure) for failure in answers] == [False, True, False]


def test_a_host_that_is_absent_is_away_for_minutes_and_some_say_nothing_meanwhile() -> None:
    web = Web(4, WebPlan(pages=60, hosts=8, absent=1.0))
    said = {web.reply(h.pages[0].url, sum(h.away_s) / 2.0).failure for h in web.hosts.values()}

    assert all(host.away_s[1] - host.away_s[0] >= 60.0 for host in web.hosts.values())
    assert "silence" in said and said <= {"silence", "refused", "reset"}
    assert not any(web.reply(host.pages[0].url, host.away_s[1] + 1.0).failure for host in web.hosts.values())


def test_a_host_that_refuses_does_so_for_a_few_pages_when_it_is_first_asked_for_each() -> None:
    web = Web(4, WebPlan(pages=300, hosts=8, refusing=1.0))
    host = next(iter(web.hosts.values()))
    first, *others = [page.url for page in host.pages if page.kind is Kind.PLAIN]

    once, again = ([web.reply(url) for url in (first, *others)] for _ in range(2))

    refused = [reply for reply in once if reply.status in (429, 503)]
    assert once[0].status == 200
    assert once[1 : len(refused) + 1] == refused and 1 < len(refused) < len(others)
    assert not any(reply.retry_after_s or "Retry-After" in reply.headers for reply in refused)
    assert {reply.status for reply in again} == {200}


def test_who_is_asked_for_a_page_is_known_till_the_answer_is_there() -> None:
    web = Web(4, WebPlan(pages=60, hosts=8))
    one, other, *_ = (page.url for page in web.pages.values() if page.kind is Kind.PLAIN)
    takes_s = web.reply(one, 5.0).takes_s
    web.reply(other, 5.0 + takes_s)

    assert web.under_way(5.0 + takes_s / 2) == [other, one]
    assert web.under_way(5.0 + takes_s) == [other]
    assert set(web.led_to(5.0 + takes_s)) == set(web.pages[other].links) - {one, other}


def test_where_robots_txt_says_nothing_nothing_is_forbidden_and_where_it_always_fails_everything_is() -> None:
    web = Web(9, WebPlan(pages=300, hosts=30, odd_robots=1.0, forbidden=0.3))
    forbidden = [page for page in web.pages.values() if page.kind is Kind.FORBIDDEN]

    assert {web.hosts[page.host].has_rules for page in forbidden} == {True, False}
    assert all(web.forbids(page) == web.hosts[page.host].has_rules for page in forbidden)
    assert not any(web.answers(p.url) for p in web.pages.values() if web.hosts[p.host].robots is Robots.DOWN)


@pytest.mark.slow
@pytest.mark.parametrize("delay_s", [1.0, pytest.param(0.0, marks=pytest.mark.soak)])
def test_a_crawl_of_an_odd_web_comes_to_the_end_that_the_web_has(delay_s: float) -> None:
    options = Options(scenario="rolling", masters=3, pages=60, hosts=8, seed=4, delay_s=delay_s)

    report = Simulation(Plan(options, web=ODD)).run()

    assert report.violations == []


@pytest.mark.slow
def test_a_redirect_that_leads_to_itself_is_one_that_has_to_fail() -> None:
    web = WebPlan(pages=60, hosts=2, redirect=0.6, far_redirects=1.0)
    led = [page for page in Web(2, web).pages.values() if page.kind is Kind.REDIRECT and page.links == [page.url]]

    report = Simulation(Plan(Options(scenario="rolling", masters=2, pages=60, hosts=2, seed=2), web=web)).run()

    assert led and not any(Web(2, web).opens(page) for page in led)
    assert report.violations == []


@pytest.mark.slow
@pytest.mark.parametrize("ring", ["modulo", pytest.param("two-level", marks=pytest.mark.soak)])
def test_other_rings_crawl_all_of_it_too(ring: str) -> None:
    options = Options(scenario="rolling", masters=3, pages=30, hosts=6, seed=4, ring=ring, placement="host-bucket")

    assert Simulation(options).run().violations == []


def test_oddities_are_drawn_from_the_seed_for_the_options_that_ask_for_them() -> None:
    odd, usual = (Plan(Options(seed=7, pages=30, draws=draws)).completed().web for draws in (("web",), ()))

    assert odd is not None and {name: getattr(odd, name) for name in drawn_oddities(7)} == drawn_oddities(7)
    assert usual == WebPlan(pages=30)
