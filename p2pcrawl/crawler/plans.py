"""The plans of a crawl: which spiders, with which settings and arguments, and what goes together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from p2pcrawl.master.boards.job_boards import boards_of
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.boards.job_board import FROM_START, Boards, JobBoard
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.job import JobSpec, SpiderRef
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.board_file import board_text
from p2pcrawl.spiders.boards.board_spider import BoardSpider
from p2pcrawl.spiders.boards.joint_spider import JointSpider, read_named
from p2pcrawl.spiders.finding.answered_names import scrapy_names_installed
from p2pcrawl.spiders.loading.boards_together import boards_together
from p2pcrawl.spiders.loading.chosen import merged_settings
from p2pcrawl.spiders.loading.load import load_spider, parse_target, reference_of
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.stores.address import scheme_of
from p2pcrawl.stores.feeds.start_outputs import SpiderFeeds


@dataclass(frozen=True, slots=True)
class WithArguments:
    """A spider with arguments of its own, among others that are crawled side by side."""

    spider: type[Spider]
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TogetherBoards:
    """Files of boards that are crawled in one job."""

    files: Sequence[str]


Target = type[Spider] | SpiderRef | WithArguments | TogetherBoards | str


class CrawlPlan:
    """One spider with all that belongs to it."""

    def __init__(
        self,
        ref: SpiderRef,
        cls: type[Spider],
        settings: Settings,
        arguments: dict[str, Any],
        portable: bool,
        own_feeds: bool,
    ) -> None:
        self.ref = ref
        self.cls = cls
        self.feeds = SpiderFeeds(settings.feeds, str(cls.name), arguments, own_feeds)
        self.settings = replace(settings, feeds={})
        """Without the feeds, which are outputs from here on, and may hold passwords."""
        self.arguments = arguments
        self.boards: Boards = cls.texts if issubclass(cls, JointSpider) else {}
        """Its boards, where it has several."""
        self.portable = portable
        self.name = str(cls.name)


def ranked_choice(
    settings: Settings | RankedSettings | Mapping[str, Any] | None,
) -> tuple[RankedSettings, dict[str, Any]]:
    """Returns what a spider's own settings go over, and what goes over these."""
    if isinstance(settings, RankedSettings):
        return settings, {}
    return RankedSettings(), settings.chosen() if isinstance(settings, Settings) else dict(settings or {})


def plan_of(
    ref: SpiderRef | None, cls: type[Spider], base: RankedSettings, typed: dict[str, Any], arguments: dict[str, Any]
) -> CrawlPlan:
    """Returns the plan for a spider: with the settings that it is crawled with. Raises ConfigurationError."""
    settings = merged_settings(base, cls, typed)
    if not settings.getbool("LOG_ENABLED", True):
        settings = replace(settings, log_level="CRITICAL")
    if scrapy_names_installed():
        settings = replace(settings, scrapy_names=True)
    own_feeds = all(name.lower() != "feeds" for name in typed)
    return CrawlPlan(ref or SpiderRef(qualname=cls.__qualname__), cls, settings, arguments, ref is not None, own_feeds)


def resolved_targets(
    target: Target | Sequence[Target],
) -> list[tuple[SpiderRef | None, type[Spider], Mapping[str, Any] | None]]:
    """Returns the spiders that are meant, each with how other processes find it, if they can, and arguments of its own.
    Raises ConfigurationError.
    """
    alone = isinstance(target, str | SpiderRef | WithArguments | TogetherBoards | type)
    targets: list[Target] = [target] if alone else list(target)  # type: ignore[list-item, arg-type]
    if not targets:
        raise ConfigurationError("nothing to crawl: give a URL or a spider")
    found: list[tuple[SpiderRef | None, type[Spider], Mapping[str, Any] | None]] = []
    urls: list[str] = []
    for each in targets:
        if isinstance(each, WithArguments):
            found.append((reference_of(each.spider), each.spider, each.arguments))
            continue
        if isinstance(each, TogetherBoards):
            ref, cls, _ = boards_together(each.files)
            found.append((ref, cls, None))
            continue
        if isinstance(each, type):
            found.append((reference_of(each), each, None))
            continue
        ref = parse_target(each) if isinstance(each, str) else each
        if ref.urls:
            urls.extend(ref.urls)
        else:
            found.append((ref, load_spider(ref), None))
    if urls:
        ref = SpiderRef(urls=tuple(dict.fromkeys(urls)))
        found.insert(0, (ref, load_spider(ref), None))
    return found


def check_shared(spec: SinkSpec, theirs: SinkSpec, plan: CrawlPlan, other: CrawlPlan) -> None:
    """Refuses an output that two spiders cannot share, in words that name all three."""
    both, output = f"{other.name} and {plan.name}", spec.url
    one, two = plan.settings, other.settings
    if scheme_of(output):
        if spec.replace:
            raise ConfigurationError(
                f"each of {both} would replace what is in {output}: use -o, or run them one by one"
            )
    elif (
        (spec.options, spec.replace) != (theirs.options, theirs.replace)
        or one.feed_export_fields != two.feed_export_fields
        or (one.feed_export_indent, one.feed_csv_safe) != (two.feed_export_indent, two.feed_csv_safe)
    ):
        raise ConfigurationError(f"{both} want {output} written in different ways: give each an output of its own")


def boards_resumed(job: Job, plan: CrawlPlan, now_ms: int) -> Boards:
    """Returns the boards of a job that goes on as a plan has them by now: what is new in them counts from now on.
    Raises ConfigurationError where the job has one that the plan does not name.
    """
    named: dict[str, str] = {name: board.text for name, board in plan.boards.items()}
    if not named and job.spec.boards and issubclass(plan.cls, BoardSpider):
        named = {plan.name: board_text(plan.ref.file)}
    known = boards_of(job) if named else {}
    if others := [name for name, each in known.items() if name not in named and not each.version.closed]:
        raise ConfigurationError(f"the crawl in the data folder has another board ({others[0]}): name it, too")
    found: dict[str, JobBoard] = {}
    for name, text in named.items():
        before = known.get(name)
        if before is None:
            found[name] = JobBoard(now_ms, text)
        elif before.version.text == text and not before.version.closed:
            found[name] = replace(before.version, version=max(FROM_START, before.version.version))
        else:
            entries = read_named(name, text).entries
            gone = tuple(sorted({*before.board.entries, *before.version.gone}.difference(entries)))
            found[name] = JobBoard(max(now_ms, before.version.version + 1), text, gone)
    return found


def described(spec: JobSpec) -> str:
    """Returns in a word what a job crawls."""
    ref = spec.spider
    if ref.urls:
        return ref.urls[0] + (" and others" if len(ref.urls) > 1 else "")
    return f"{ref.file or ref.module}:{ref.qualname}"
