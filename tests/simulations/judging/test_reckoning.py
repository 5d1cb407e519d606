"""What the harness reckons of losses goes by where each job has its pages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from simulations.observe.folders import print_of
from simulations.play.options import Options
from simulations.play.reckoning import Reckoning
from simulations.world.web import Web, WebPlan


def test_a_job_that_shards_otherwise_has_its_pages_in_other_buckets() -> None:
    web = Web(1, WebPlan(pages=40, hosts=3))
    beside = SimpleNamespace(number=7, key="host")
    stage: Any = SimpleNamespace(web=web, options=Options(key="url"), others={"b": beside})

    reckoning = Reckoning(stage)

    of_this = {reckoning.buckets(1)[print_of(url)] for url in web.pages}
    of_hosts = {reckoning.buckets(7)[print_of(url)] for url in web.pages}
    assert len(of_this) > 30
    assert len(of_hosts) == len({page.host for page in web.pages.values()})
    assert reckoning.buckets(1) == reckoning.losses.buckets
