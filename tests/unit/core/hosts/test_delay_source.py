"""The source of a host's delay, as people are told it."""

from __future__ import annotations

import pytest

from p2pcrawl.core.hosts.delay_source import delay_source
from p2pcrawl.core.hosts.politeness import Host, HostNote, Pace
from p2pcrawl.model.crawl.settings import Settings


def pace(**settings: object) -> Pace:
    return Pace.of(Settings().updated(dict(settings)))


@pytest.mark.parametrize(
    ("settings", "source"),
    [
        ({}, "default"),
        ({"download_delay": 2.0}, "setting"),
        ({"download_delay": 0.0}, ""),
        ({"download_delay": 0.0, "autothrottle_enabled": True}, "latency"),
    ],
)
def test_source_of_a_hosts_delay_is_what_its_job_says(settings: dict[str, object], source: str) -> None:
    assert delay_source(Host(1, "a.example"), pace(**settings)) == source


def test_what_another_master_knows_of_robots_txt_is_the_source() -> None:
    host = Host(1, "a.example")
    host.learn(HostNote(delay_s=5.0), 0.0, 60.0)

    assert delay_source(host, pace(download_delay=1.0)) == "robots.txt"


def test_trouble_outweighs_what_is_shorter() -> None:
    host = Host(1, "a.example")
    for _ in range(4):
        host.slow_down()

    assert delay_source(host, pace(download_delay=1.0)) == "trouble"


def test_private_host_has_no_delay_of_its_own() -> None:
    assert delay_source(Host(1, "127.0.0.1"), pace()) == ""
