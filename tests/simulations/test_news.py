"""News sites that live: how soon what is new is found, for how many fetches, and what deaths change of that."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from simulations.__main__ import main
from simulations.news.curve import Least, crawled, fixed_cost
from simulations.news.figures import plain
from simulations.news.month import Death, Month, MonthPlan, lived
from simulations.news.site import DAY_S, EVEN, FrontPage, LivingWeb, SitePlan
from simulations.news.verdict import judged
from simulations.world.pins import EPOCH_S
from simulations.world.web import Visit
from simulations.world.world import World

KEPT = Path(__file__).parents[2] / "docs" / "freshness.json"
SMALL = SitePlan(sites=1, days=1.0)


@pytest.mark.slow
def test_news_are_read_through_deaths_and_nothing_is_lost_or_fetched_for_nothing() -> None:
    month = lived(MonthPlan(web=SitePlan(sites=1, days=1.5, closing=0.3), kills=100, slow=300))

    verdict = judged(month)

    assert {len(death.names) for death in month.deaths} == {1, 3}
    assert verdict.articles > 100
    assert verdict.found == verdict.articles
    assert verdict.closed > 0
    # Masters whose second takes five minutes find what is due later than others do.
    assert [each for each in verdict.broken if "within one period" not in each] == []


@pytest.mark.soak
def test_month_of_news_is_as_fresh_as_one_period_for_all_for_a_third_of_its_fetches() -> None:
    month = lived(MonthPlan())

    verdict = judged(month)

    assert verdict.broken == []
    assert plain(verdict, month.web)["beside_fixed"] <= 1 / 3


@pytest.mark.parametrize(("mix", "most"), [(SitePlan(days=10), 1 / 3), (SitePlan(days=10, mix=EVEN), 0.6)])
def test_adaptive_periods_come_near_to_the_least_that_any_rule_can_reach(mix: SitePlan, most: float) -> None:
    web = LivingWeb(1, mix)
    least = Least.of(web.fronts.values()).share

    adaptive = crawled("adaptive", web, least_s=600)

    share = adaptive.per_day * adaptive.mean_s / fixed_cost(web)
    assert share <= most
    assert share <= 1.15 * least


def test_picture_shows_what_the_rules_give() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))["curve"]
    web = LivingWeb(1, SitePlan())

    found = crawled("adaptive from 1,200 s", web, least_s=1_200)

    assert (kept["fronts"], kept["articles"]) == (len(web.fronts), len(web.articles))
    assert kept["adaptive"][-1] == pytest.approx(found._asdict())
    assert kept["least"] == pytest.approx(Least.of(web.fronts.values()).share)


def test_front_page_lists_what_has_appeared_and_says_what_was_amended() -> None:
    web = LivingWeb(1, SitePlan(sites=1, days=3, amended=1.0, closing=0.0))
    home = web.fronts[web.homes[0]]
    article = next(each for each in home.articles if each.appears_s > DAY_S)

    before, after = (web.reply(home.url, at_s).body for at_s in (article.appears_s - 1, article.appears_s + 1))
    later = web.reply(home.url, article.amended_s).body

    assert article.url.encode() not in before
    assert article.url.encode() in after
    assert f"<b>{article.amended_s:.0f}</b>".encode() in later


def test_front_page_with_an_etag_says_when_it_has_not_changed() -> None:
    web = LivingWeb(1, SMALL)
    front = next(each for each in web.fronts.values() if each.tagged)
    tag = web.reply(front.url, 100.0).headers["ETag"]

    same, other = (web.reply(front.url, at_s, tag) for at_s in (100.0, DAY_S - 1))

    assert (same.status, same.body) == (304, b"")
    assert other.status == 200 or not front.articles


# -- the judge -----------------------------------------------------------------------------------


def visit(url: str, at_s: float, status: int = 200) -> Visit:
    return Visit(url, url.split("/")[2], "m0", 1, at_s, at_s + 0.1, status, "", 0.0, "m0")


def read_twice(*deaths: Death) -> Month:
    """Makes a day on which one article was fetched twice, and nothing else was."""
    web = LivingWeb(1, SMALL)
    article = next(each for each in web.articles.values() if each.amended_s > DAY_S)
    web.visits += [visit(article.url, article.appears_s + wait_s) for wait_s in (60.0, 900.0)]
    return Month(MonthPlan(web=SMALL), web, list(deaths))


def test_judge_notices_an_article_that_is_fetched_again_and_lost_and_late() -> None:
    verdict = judged(read_twice())

    assert (verdict.again, verdict.again_by_death, len(verdict.lost)) == (1, 0, 1)
    assert len(verdict.broken) == 4, verdict.broken


def test_judge_excuses_what_a_death_explains() -> None:
    first_s = read_twice().web.visits[0].ended_s
    nearby, far = (read_twice(Death(("m0",), first_s + wait_s, DAY_S)) for wait_s in (20.0, 800.0))

    assert (judged(nearby).again_by_death, judged(far).again_by_death) == (1, 0)


def test_judge_notices_a_host_over_its_budget_and_a_gone_page_that_is_asked_again() -> None:
    web = LivingWeb(1, SMALL)
    front: FrontPage = web.fronts[web.homes[0]]
    front.closes_s = 1_000.0
    web.visits += [visit(front.url, 2_000.0 + number, 410) for number in range(130)]

    verdict = judged(Month(MonthPlan(web=SMALL), web))

    assert (verdict.busiest, verdict.closed, verdict.closed_told, verdict.closed_again) == (129, 1, 0, 129)
    assert {"no host has more visits than its budget", "nobody asks for what is gone"} <= set(verdict.broken)


# -- clocks, and the command -----------------------------------------------------------------------


def test_machine_whose_seconds_take_longer_has_a_right_clock_on_its_wall() -> None:
    with World(1) as world:
        node = world.node("slow")
        node.slow_down(30.0)

        async def live() -> tuple[float, float]:
            began = time.monotonic()
            await asyncio.sleep(10.0)
            return time.monotonic() - began, time.time() - EPOCH_S

        async def play() -> tuple[float, float]:
            return await node.start(live)

        counted, wall = world.run(play())

        assert counted == pytest.approx(10.0)
        assert wall == pytest.approx(300.0) == world.now


@pytest.mark.parametrize(
    "typed",
    [
        ["--days", "31"],
        ["--period", "never"],
        ["--period", "soon"],
        ["--masters", "1"],
        ["--sites", "0"],
        ["--slow", "0"],
    ],
)
def test_month_that_cannot_be_is_refused_in_one_line(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["news", *typed]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_figures_kept_by_something_else_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "freshness.json"
    kept.write_text('{"masters": 5}')

    assert main(["news", "--days", "0", "--kept", str(kept)]) == 2

    assert "has no figures that were kept by this verb" in capsys.readouterr().err
    assert kept.read_text() == '{"masters": 5}'
