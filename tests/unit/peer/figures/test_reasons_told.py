"""The reasons why pages are missing, as masters tell of them, added up."""

from __future__ import annotations

from p2pcrawl.model.reason_choice import EVERY_REASON, reasons_named
from p2pcrawl.peer.figures.reasons_told import (
    ReasonExample,
    ReasonExamples,
    ReasonsHere,
    reasons_told,
    summed_reasons,
)
from p2pcrawl.peer.figures.troubles import FailedKind, FailedPage


def page(host: str, of_host: int = 1, status: int = 404) -> FailedPage:
    return FailedPage(url=f"http://{host}/", host=host, at=1, status=status, detail="", of_host=of_host)


def example(url: str, status: int = 404) -> ReasonExample:
    return ReasonExample(url=url, host="a", at=1, status=status, detail="", of_host=0, page="")


def here(*failed: FailedKind, more: tuple[ReasonExamples, ...] = (), **told: object) -> ReasonsHere:
    return ReasonsHere(failed=list(failed), dropped=[], more=list(more), **{"statuses": {}, "links": [], **told})


def gone(count: int, *pages: FailedPage) -> FailedKind:
    return FailedKind(kind="http-4xx", count=count, hosts=len(pages), examples=list(pages))


def test_counts_statuses_and_filtered_links_add_up_over_masters() -> None:
    one = here(
        gone(5, page("a", 5)), statuses={"http-4xx": {"404": 5}}, links=[["offsite", "http://x/", "http://a/", 2]]
    )
    other = here(gone(2, page("b", 2)), statuses={"http-4xx": {"404": 1, "410": 1}})

    failed, offsite = reasons_told([one, other], {"offsite": 9, "seen": 70}, 3, EVERY_REASON)

    assert (failed["outcome"], failed["count"], failed["statuses"]) == ("failed", 7, {"404": 6, "410": 1})
    assert [each["host"] for each in failed["examples"]] == ["a", "b"]
    assert (offsite["outcome"], offsite["reason"], offsite["count"]) == ("filtered", "offsite", 9)
    assert [(each["url"], each["page"]) for each in offsite["examples"]] == [("http://x/", "http://a/")]


def test_where_one_host_has_all_its_further_pages_are_examples() -> None:
    urls = [f"http://a/{n}" for n in range(5)]
    more = ReasonExamples(outcome="failed", reason="http-4xx", examples=[example(url) for url in urls])

    (failed,) = reasons_told([here(gone(6, page("a", 6)), more=(more,))], {}, 3, EVERY_REASON)

    assert [each["url"] for each in failed["examples"]] == ["http://a/", *urls[:2]]


def test_one_status_is_told_alone() -> None:
    more = ReasonExamples(outcome="failed", reason="http-4xx", examples=[example("http://a/old", 410)])
    part = here(gone(6, page("a", 6)), more=(more,), statuses={"http-4xx": {"404": 5, "410": 1}})

    (failed,) = reasons_told([part], {"offsite": 1}, 3, reasons_named("http-410"))

    assert (failed["count"], failed["statuses"]) == (1, {"410": 1})
    assert [each["url"] for each in failed["examples"]] == ["http://a/old"]


def test_jobs_add_up_most_first() -> None:
    small = reasons_told([here(gone(1, page("a")))], {"depth": 3}, 3, EVERY_REASON)
    large = reasons_told([here(gone(4, page("b", 4)))], {"depth": 2, "offsite": 50}, 3, EVERY_REASON)

    found = summed_reasons([small, large], 3)

    assert [(each["reason"], each["count"]) for each in found] == [("http-4xx", 5), ("offsite", 50), ("depth", 5)]
