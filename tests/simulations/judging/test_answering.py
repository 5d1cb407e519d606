"""A host that answers in order is known from what the web saw, and so is when it may be asked again."""

from __future__ import annotations

from simulations.observe.answering import answering
from simulations.world.web import Visit, Web, WebPlan

NOW_S = 300.0


def asked(web: Web, host: str, ended_s: float, status: int, retry_after_s: float = 0.0) -> None:
    page = web.hosts[host].pages[0]
    web.visits.append(Visit(page.url, host, "m0", 1, ended_s - 1.0, ended_s, status, "", retry_after_s))


def test_a_host_that_has_refused_somebody_and_has_not_said_for_how_long_may_be_spared_for_a_minute() -> None:
    web = Web(4, WebPlan(pages=20, hosts=3, delayed_hosts=0.0, dead_hosts=0.0))
    first, second, third = web.hosts
    for host, status, retry_after_s in ((first, 200, 0.0), (second, 429, 0.0), (third, 503, 2.0)):
        asked(web, host, 100.0, status, retry_after_s)
        asked(web, host, 280.0, 200)

    assert answering(web, 1.0, NOW_S) == {first: 281.0, second: 340.0, third: 281.0}


def test_a_host_that_was_in_trouble_of_late_is_none() -> None:
    web = Web(4, WebPlan(pages=20, hosts=3, delayed_hosts=0.0, dead_hosts=0.0))
    first, second, _ = web.hosts
    asked(web, first, 200.0, 500)
    asked(web, first, 210.0, 200)
    asked(web, second, 290.0, 200)

    assert answering(web, 1.0, NOW_S) == {second: 291.0}
