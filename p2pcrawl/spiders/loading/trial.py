"""A spider made once before the crawl, so that what cannot work is said before anything is written.

Each slave makes its own spider later. What only shows there (a pipeline that cannot connect) still ends the crawl
with one line, but then the data folder knows the crawl already.
"""

from __future__ import annotations

import inspect
import linecache
import logging
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from p2pcrawl.model.choosing.feed_encoding import is_kept_to
from p2pcrawl.model.choosing.foreign_names import told_of
from p2pcrawl.model.crawl.settings import Settings, near_misses
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.spiders.boards.joint_spider import JointSpider
from p2pcrawl.spiders.finding.built_in import built_in
from p2pcrawl.spiders.finding.objects import load_object
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.signal_names import spider_idle
from p2pcrawl.spiders.loading.allowed_hosts import bounds_of
from p2pcrawl.spiders.loading.chosen import pace_of, spider_of
from p2pcrawl.spiders.loading.plain import Links
from p2pcrawl.spiders.loading.retried_kinds import retried_kinds
from p2pcrawl.spiders.page.typed_urls import checked_url
from p2pcrawl.spiders.spider import Spider

log = logging.getLogger(__name__)

START_URLS_CHECKED = 10_000


def try_spider(cls: type[Spider], arguments: Mapping[str, Any], settings: Settings) -> Settings:
    """Returns the settings with what the spider sets when it is made, the pace among it. Raises ConfigurationError, one
    line, when it cannot be made or has nowhere to start.
    """
    _check_components(settings)
    retried_kinds(settings.retry_exceptions)
    _check_arguments(cls, arguments)
    handle = CrawlHandle(settings, cls)
    try:
        spider = spider_of(cls, handle, arguments)
    except P2PCrawlError:
        raise
    except Exception as error:
        raise ConfigurationError(f"spider {cls.name} cannot be made: {error_line(error)}") from error
    settings = handle.settings
    for line in (*told_of(settings.own), *bounds_of(spider)[1]):
        log.warning("%s", line)
    if not is_kept_to(settings.feed_export_encoding):
        log.warning("setting FEED_EXPORT_ENCODING: outputs are in UTF-8, and not in %s", settings.feed_export_encoding)
    if settings.revisit_rounds > 1 and not has_periods(settings, spider):
        log.warning(
            "setting REVISIT_ROUNDS (--rounds) is %d, and no period is set: pages are visited once, but for those "
            "whose request has a period of its own; set REVISIT_INDEX or REVISIT_DETAIL to seconds, or to adaptive",
            settings.revisit_rounds,
        )
    for name, near in near_misses(settings.own):
        log.warning("setting %s is not one of ours, and is kept for the spider to read; was %s meant?", name, near)
    _check_start(
        spider, fed=handle.signals.has(spider_idle) or bool(settings.extensions or settings.spider_middlewares)
    )
    return pace_of(settings, spider)


def has_periods(settings: Settings, spider: Spider) -> bool:
    """Tells whether any page is visited again by the settings, or by the boards of a job that has several."""
    boards = spider.boards.values() if isinstance(spider, JointSpider) else ()
    own = [period for each in boards for period in (each.board.revisit.navigation, each.board.revisit.articles)]
    return any((settings.revisit_index, settings.revisit_detail, *own))


def _check_components(settings: Settings) -> None:
    """Checks that the components are there which the settings name."""
    kinds = {
        "ITEM_PIPELINES": settings.item_pipelines,
        "DOWNLOADER_MIDDLEWARES": settings.downloader_middlewares,
        "SPIDER_MIDDLEWARES": settings.spider_middlewares,
        "EXTENSIONS": settings.extensions,
    }
    for setting, components in kinds.items():
        for path, order in components.items():
            if isinstance(path, str) and order is not None and not built_in(path):
                try:
                    load_object(path)
                except ConfigurationError as error:
                    raise ConfigurationError(f"{error} ({setting} names {path})") from error


def error_line(error: BaseException) -> str:
    """Tells of an exception in one line, with the place in the user's code that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parents[2])
    theirs = [f for f in frames if not f.filename.startswith(ours) and linecache.getline(f.filename, f.lineno or 0)]
    text = str(error).partition("\n")[0]
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{said} ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else said


def _check_arguments(cls: type[Spider], arguments: Mapping[str, Any]) -> None:
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError):
        return
    named = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    missing = [p.name for p in named if p.default is p.empty and p.name not in arguments]
    if missing:
        wanted = " ".join(f"-a {name}=VALUE" for name in missing)
        raise ConfigurationError(f"spider {cls.name} needs {_listed(missing)}: add {wanted}")
    if any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return
    known = {p.name for p in named}
    if extra := [name for name in arguments if name not in known]:
        raise ConfigurationError(f"spider {cls.name} takes no argument {extra[0]!r} (-a {extra[0]}=...)")


def _listed(names: list[str]) -> str:
    quoted = [f"{name!r}" for name in names]
    return f"the argument {quoted[0]}" if len(quoted) == 1 else f"the arguments {', '.join(quoted)}"


def _check_start(spider: Spider, *, fed: bool) -> None:
    """Checks the start URLs, where they are nothing but a list. There may be none where others feed the spider."""
    cls = type(spider)
    if cls.start is not Spider.start or cls.start_requests is not Spider.start_requests:
        return
    urls = spider.start_urls
    if not isinstance(urls, list | tuple | set | frozenset):
        return
    if not urls:
        # The same words as when it starts, for the misspelt attribute.
        list(spider.start_requests())
        if fed:
            return
        raise ConfigurationError(
            f"spider {spider.name} has nowhere to start: give it start_urls, or define start() or start_requests()"
        )
    source = "" if isinstance(spider, Links) else f"start_urls of spider {spider.name}"
    for _, url in zip(range(START_URLS_CHECKED), urls, strict=False):
        checked_url(url, source)
