"""URLs that are put into a job while it runs, and when it is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.core.control import CANCELLED, FINISHED, INCOMPLETE, PAUSED, RUNNING, Control
from p2pcrawl.master.injection import check_takes_urls
from p2pcrawl.master.jobs.job import JobId, SpiderRef, job_of
from p2pcrawl.master.steering import check_can_be_set
from p2pcrawl.model.crawl.job import JobSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.submission import urls_of
from p2pcrawl.peer.peer import PeerJob
from tests.unit.peer.test_control import ended
from tests.unit.peer.test_peer import PAGES, peer, site_of, spider

pytestmark = pytest.mark.usefixtures("own_folders")


async def test_finished_job_runs_again_for_urls_that_are_put_into_it_and_once_for_each(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        job = await one.submit(spider(tmp_path, site), name="small")
        await ended(job)

        new = [f"{site.url(number)}?again" for number in (1, 2)]
        first = await job.inject([*new, site.url(1)])
        await ended(job)
        again = await job.inject(new)
        end = await ended(job)

        assert (first["injected"], first["was"], first["state"]) == (3, "finished", "running")
        assert again["injected"] == 2
        assert end["pages"] == PAGES + 2 and end["conserved"]
        assert end["certificate"]["counts"]["pages"] == PAGES + 2


async def test_cancelled_job_refuses_urls_and_says_why(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        site.gate.clear()
        job = await one.submit(spider(tmp_path, site))
        await job.cancel()
        site.gate.set()

        with pytest.raises(ConfigurationError, match=f"job {job.id} takes no URLs: it is cancelled"):
            await PeerJob(one, job.id).inject([site.url(1)])


@pytest.mark.parametrize("state", [RUNNING, PAUSED, FINISHED, INCOMPLETE])
def test_job_that_goes_on_or_can_go_on_takes_urls(state: str) -> None:
    spec = JobSpec(JobId(1), "a", SpiderRef(urls=("http://a.example/",)))

    check_takes_urls(job_of(spec, Control(state=state)))


@pytest.mark.parametrize(
    ("control", "said"),
    [(Control(state=CANCELLED), "cancelled"), (Control(state=FINISHED, reason="closespider_pagecount"), "pagecount")],
)
def test_job_that_is_over_for_good_takes_none(control: Control, said: str) -> None:
    spec = JobSpec(JobId(1), "a", SpiderRef(urls=("http://a.example/",)))

    with pytest.raises(ConfigurationError, match=said):
        check_takes_urls(job_of(spec, control))


@pytest.mark.parametrize(("state", "what_next"), [(FINISHED, "`p2pcrawl retry` or `inject`"), (CANCELLED, "is final")])
def test_job_that_is_over_is_not_set_and_it_is_said_what_to_do(state: str, what_next: str) -> None:
    spec = JobSpec(JobId(1), "a", SpiderRef(urls=("http://a.example/",)))

    with pytest.raises(ConfigurationError, match=f"cannot set anything of job 1: .*{what_next}"):
        check_can_be_set(job_of(spec, Control(state=state)))


@pytest.mark.parametrize("urls", [None, [], "http://a.example/", [5], [None], ["example.com"], ["ftp://a.example/"]])
def test_what_are_no_urls_is_one_clear_line(urls: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        urls_of({"urls": urls})

    assert "\n" not in str(caught.value)


def test_url_that_is_too_long_is_refused_with_its_length_and_its_beginning() -> None:
    with pytest.raises(
        ConfigurationError, match=r"at most 16,384 characters.*http://a\.example/xxx.*has 20,017"
    ) as caught:
        urls_of({"urls": ["http://a.example/" + "x" * 20_000]})

    assert len(str(caught.value)) < 200


def test_urls_are_normalised_as_those_of_spiders_are() -> None:
    assert urls_of({"urls": [" HTTP://A.example ", "http://b.example/#part"]}) == [
        "http://a.example/",
        "http://b.example/",
    ]
