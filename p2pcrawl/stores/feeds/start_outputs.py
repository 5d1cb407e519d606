"""The outputs of one start of a crawl: those that were given, and those of FEEDS, each in its place.

As with Scrapy, outputs that were given take the place of a spider's own FEEDS; those that the caller gave with them
stand beside them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import scheme_of
from p2pcrawl.stores.feeds.feed_sinks import feed_sinks, same_but_for_time, tells_time
from p2pcrawl.stores.files.opening import STANDARD_OUTPUT
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink


@dataclass(frozen=True, slots=True)
class SpiderFeeds:
    """The FEEDS with which one spider is crawled."""

    feeds: Mapping[str, Any]
    spider: str
    arguments: Mapping[str, Any]
    own: bool
    """They are the spider's, not the caller's."""


@dataclass(frozen=True, slots=True)
class StartOutputs:
    """All outputs of one start."""

    specs: Sequence[SinkSpec]
    timed: frozenset[str]
    """The addresses among them that tell the time of the start."""

    def as_begun(self, known: Sequence[str]) -> list[SinkSpec]:
        """Returns the outputs for a crawl that goes on: those that tell the time, under the addresses with which they
        began, where these are ``known``.
        """
        return [replace(spec, url=self._begun(spec.url, known)) for spec in self.specs]

    def _begun(self, url: str, known: Sequence[str]) -> str:
        begun = [each for each in known if url in self.timed and same_but_for_time(each, url)]
        return begun[-1] if begun else url


def start_outputs(given: Sequence[SinkSpec], feeds: Sequence[SpiderFeeds], now: datetime) -> StartOutputs:
    """Chooses and places the outputs of a start. Opens nothing. Raises ConfigurationError for what can already be seen
    not to work, in the words that were typed.
    """
    found, timed = list(given), [False] * len(given)
    for each in feeds:
        if not (given and each.own):
            found += feed_sinks(each.feeds, each.spider, each.arguments, now)
            timed += map(tells_time, each.feeds)
    placed = _placed(found)
    return StartOutputs(placed, frozenset(spec.url for spec, told in zip(placed, timed, strict=True) if told))


def _placed(outputs: Sequence[SinkSpec]) -> list[SinkSpec]:
    """Returns the outputs with absolute paths, so that a resumed crawl finds them from any folder."""
    for output in outputs:
        make_sink(address_of(output), SinkPlace("", replace=output.replace))
    placed = [replace(output, url=os.path.abspath(output.url)) if _is_file(output) else output for output in outputs]
    for number, output in enumerate(placed):
        if any(output.url == other.url for other in placed[:number]):
            raise ConfigurationError(f"the output {outputs[number].url} is given twice")
    return placed


def _is_file(output: SinkSpec) -> bool:
    return output.url != STANDARD_OUTPUT and not scheme_of(output.url)
