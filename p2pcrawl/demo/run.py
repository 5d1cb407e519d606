"""The verb ``demo``: a synthetic site, a crawl of it, and a check of what it brought back.

What is right is known from the site's plan and what it counted, never from the crawl.
"""

from __future__ import annotations

import asyncio
import csv
import gzip
import http.client
import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit
from xml.etree import ElementTree  # nosec B405  # reads only what the demo has just written

from p2pcrawl.cli.crawl import crawl_on_loop
from p2pcrawl.cli.screen.summary import INTERRUPTED, CrawlEnd, summary
from p2pcrawl.cli.screen.terminal import Terminal
from p2pcrawl.crawler import Crawler, new_event_loop
from p2pcrawl.demo.process import site_process
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.crawl.url import canonical
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError

ASK_S = 30.0


@dataclass(frozen=True, slots=True)
class Check:
    """A claim about the demo's crawl, and whether it holds."""

    good: bool
    claim: str
    detail: str = ""


_READABLE = (".jsonl", ".json", ".csv", ".xml")


def run_demo(output: str, *, pages: int, hosts: int, slaves: int | None = None, level: str = "INFO") -> int:
    """Serves, crawls, checks, tells. 1 when a check fails."""
    path = Path(os.path.abspath(output))
    if output == "-":
        raise ConfigurationError("the demo reads its output back, so it must be a file")
    if "://" in output or not output.lower().removesuffix(".gz").endswith(_READABLE):
        raise ConfigurationError(
            f"the demo reads its output back: end it in {', '.join(_READABLE)}, each also with .gz"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"cannot make the folder {path.parent}: {error.strerror}") from error
    terminal = Terminal()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_demo(terminal, path, pages, hosts, slaves, level))


async def _demo(terminal: Terminal, path: Path, pages: int, hosts: int, slaves: int | None, level: str) -> int:
    try:
        async with site_process("p2pcrawl.demo.site", "--pages", str(pages), "--hosts", str(hosts)) as site:
            terminal.say(
                f"serving {site['pages']:,} good pages on {len(site['hosts'])} loopback hosts, from {site['start']}"
            )
            crawler = Crawler(
                site["start"],
                outputs=[SinkSpec(str(path), replace=True)],
                slaves=slaves,
                settings={
                    "log_level": level,
                    "logstats_interval": 2.0,
                    "allow_private_networks": tuple(site["hosts"]),
                },
                arguments={"allowed_domains": ",".join(site["hosts"])},
            )
            ending = await crawl_on_loop(terminal, crawler, again="p2pcrawl demo")
            for line in summary(ending):
                terminal.say(line)
            if ending.interrupted:
                return INTERRUPTED
            truth = await asyncio.to_thread(_ask, site["control"], "/_truth")
            stats = await asyncio.to_thread(_ask, site["control"], "/_stats")
            checks = list(checks_of(truth, stats, ending, await asyncio.to_thread(urls_in, path)))
    except RuntimeError as error:
        raise P2PCrawlError(str(error)) from error
    for check in checks:
        terminal.write(f"  {terminal.mark(check.good)} {check.claim}{': ' + check.detail if check.detail else ''}")
    failed = sum(not check.good for check in checks)
    terminal.say(f"{failed} of {len(checks)} checks failed" if failed else f"all {len(checks)} checks passed")
    terminal.say(f"the output is {path}")
    return 1 if failed else 0


def checks_of(truth: dict[str, Any], stats: dict[str, Any], ending: CrawlEnd, urls: list[str]) -> Iterator[Check]:
    """Checks what must hold, by what the site knows of itself and what it was asked for."""
    expected = set(truth["expected"])
    found = Counter(canonical(url) for url in urls)
    missing, strange = expected - found.keys(), found.keys() - expected
    twice = [url for url, count in found.items() if count > 1]
    certificate = ending.certificates[0]
    yield Check(not missing, f"all {len(expected):,} pages are in the output", _some(missing, "missing"))
    yield Check(not twice, "each is there exactly once", _some(twice, "twice"))
    yield Check(not strange, "nothing else is", _some(strange, "unexpected"))
    again = stats["repeated"]
    yield Check(not again, "no page was fetched again without need", f"{again:,} were" if again else "")
    hit = stats["disallowed_hit"]
    yield Check(
        not hit,
        f"{len(truth['disallowed']):,} pages that robots.txt forbids were left alone",
        f"{hit:,} were not" if hit else "",
    )
    yield Check(
        certificate["failed"] == len(truth["failing"]),
        f"{len(truth['failing']):,} broken pages are reported as failed",
        f"reported: {certificate['failed']:,}" if certificate["failed"] != len(truth["failing"]) else "",
    )
    yield Check(
        certificate["redirects"] == len(truth["expected_redirects"]),
        f"{len(truth['expected_redirects']):,} redirects were followed",
        f"followed: {certificate['redirects']:,}"
        if certificate["redirects"] != len(truth["expected_redirects"])
        else "",
    )
    yield Check(
        certificate["verified"], "discovered = done + failed + dropped + queued + leased, counted record by record"
    )


def urls_in(path: Path) -> list[str]:
    """Returns the ``url`` of every item of an output."""
    name = path.name.lower().removesuffix(".gz")
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(path.open("rb"))
        if path.name.lower().endswith(".gz"):
            file = cast(IO[bytes], stack.enter_context(gzip.open(file)))
        if name.endswith(".xml"):
            return [item.findtext("url", "") for item in ElementTree.parse(file).getroot()]  # nosec B314
        text = stack.enter_context(TextIOWrapper(file, encoding="utf-8", newline=""))
        if name.endswith(".csv"):
            return [row["url"] for row in csv.DictReader(text)]
        if name.endswith(".json"):
            return [item["url"] for item in json.load(text)]
        return [json.loads(line)["url"] for line in text]


def _some(urls: Any, what: str) -> str:
    listed = sorted(urls)
    return f"{len(listed):,} {what}, such as {listed[0]}" if listed else ""


def _ask(control: str, path: str) -> dict[str, Any]:
    """Asks the site about itself. Not through a proxy, whatever the environment names."""
    address = urlsplit(control)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ASK_S)
    try:
        connection.request("GET", path)
        return cast(dict[str, Any], json.loads(connection.getresponse().read()))
    finally:
        connection.close()
