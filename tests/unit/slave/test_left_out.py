"""Examples of links that are not followed."""

from __future__ import annotations

from msgspec import msgpack
from msgspec.structs import replace

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.slave.hooks.left_out import EXAMPLES, LeftOutExamples
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.memory import Memory
from p2pcrawl.slave.pages.scope import Scope
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.wire.messages.bounds import LEFT_OUT_CHARS, LEFT_OUT_MAX
from p2pcrawl.wire.messages.slave_messages import Outcome
from tests.unit.slave.tasks import task_of


def harvest_of(examples: LeftOutExamples, **settings: object) -> Harvest:
    chosen = Settings().updated(settings)
    return Harvest(task_of(), chosen, Scope(("a.example",)), Memory(), examples=examples)


def told(harvest: Harvest) -> list[tuple[str, str]]:
    return [(each.reason, each.url) for each in harvest.left_out]


def test_each_reason_has_its_examples_but_what_was_seen_has_none() -> None:
    harvest = harvest_of(LeftOutExamples(), urllength_limit=40)

    harvest.add_links(LinkBatch(["http://a.example/1", "http://b.example/", "http://a.example/" + 40 * "x"]))
    harvest.add_links(LinkBatch(["http://a.example/1"]))
    harvest.add_request(Request("http://[bad/"))

    assert told(harvest) == [
        ("offsite", "http://b.example/"),
        ("url-length", "http://a.example/" + 40 * "x"),
        ("invalid", "http://[bad/"),
    ]


def test_links_that_are_too_deep_are_shown() -> None:
    task = task_of()
    deep = Harvest(
        replace(task, link=task.link._replace(depth=1)), Settings().updated({"depth_limit": 1}), Scope(()), Memory()
    )

    deep.add_links(LinkBatch(["http://a.example/deep"]))

    assert told(deep) == [("depth", "http://a.example/deep")]


def test_slave_that_has_told_enough_is_silent_and_examples_are_of_different_hosts() -> None:
    examples = LeftOutExamples()
    pages = [harvest_of(examples) for _ in range(20)]

    for number, page in enumerate(pages):
        page.add_links(LinkBatch([f"http://b{number}.example/{n}" for n in range(50)]))

    all_told = [url for page in pages for _, url in told(page)]
    assert len(all_told) == EXAMPLES
    assert len({url.split("/")[2] for url in all_told}) == EXAMPLES // 2
    assert sum(page.filtered["offsite"] for page in pages) == 1_000


def test_long_links_are_cut_and_whatever_a_page_says_fits_into_its_message() -> None:
    harvest = harvest_of(LeftOutExamples(), urllength_limit=100)

    harvest.add_links(LinkBatch([f"http://a{n}.example/" + 9_000 * "é" for n in range(400)]))
    harvest.add_links(LinkBatch([f"http://c{n}.example/" for n in range(400)]))

    outcome = msgpack.decode(msgpack.encode(Outcome(3, left_out=harvest.left_out)), type=Outcome)
    assert len(outcome.left_out) <= LEFT_OUT_MAX
    assert max(len(each.url) for each in outcome.left_out) == LEFT_OUT_CHARS
