"""The checks of a demo: what its site knows of itself, against what a crawl of it has brought.

What is right is known from the site's plan and what it counted, never from the crawl.
"""

from __future__ import annotations

import csv
import gzip
import http.client
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit
from xml.etree import ElementTree  # nosec B405  # reads only what the demo has just written

from p2pcrawl.cli.screen.terminal import Terminal
from p2pcrawl.model.crawl.url import canonical
from p2pcrawl.model.errors import ConfigurationError

ASK_S = 30.0
_READABLE = (".jsonl", ".json", ".csv", ".xml")


@dataclass(frozen=True, slots=True)
class Check:
    """A claim about the demo's crawl, and whether it holds."""

    good: bool
    claim: str
    detail: str = ""


def readable_output(output: str) -> Path:
    """Returns where the items are to go, with the folder made. Raises ConfigurationError for what cannot be read
    back.
    """
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
    return path


def checks_of(
    truth: Mapping[str, Any], stats: Mapping[str, Any], counts: Mapping[str, Any], urls: Iterable[str], spare: int = 0
) -> Iterator[Check]:
    """Checks what must hold of any crawl of the site. ``counts``: of its job, with ``verified`` if the records were
    found to add up. ``spare``: how many pages a killed master may have had in hand, which others had to fetch again.
    """
    expected = set(truth["expected"])
    found = Counter(canonical(url) for url in urls)
    missing, strange = expected - found.keys(), found.keys() - expected
    twice = [url for url, count in found.items() if count > 1]
    yield Check(not missing, f"all {len(expected):,} pages are in the output", _some(missing, "missing"))
    yield Check(not twice, "each is there exactly once", _some(twice, "twice"))
    yield Check(not strange, "nothing else is", _some(strange, "unexpected"))
    yield _fetched_again(stats["repeated"], spare)
    hit = stats["disallowed_hit"]
    yield Check(
        not hit,
        f"{len(truth['disallowed']):,} pages that robots.txt forbids were left alone",
        f"{hit:,} were not" if hit else "",
    )
    yield _counted(counts["failed"], len(truth["failing"]), "broken pages are reported as failed", "reported")
    yield _counted(counts["redirects"], len(truth["expected_redirects"]), "redirects were followed", "followed")
    yield Check(counts["verified"], "discovered = done + failed + dropped + queued + leased, counted record by record")


def tell_checks(terminal: Terminal, checks: Iterable[Check], path: Path) -> int:
    """Tells how the checks went, and where the output is. Returns the exit code."""
    each = list(checks)
    for check in each:
        terminal.write(f"  {terminal.mark(check.good)} {check.claim}{': ' + check.detail if check.detail else ''}")
    failed = sum(not check.good for check in each)
    terminal.say(f"{failed} of {len(each)} checks failed" if failed else f"all {len(each)} checks passed")
    terminal.say(f"the output is {path}")
    return 1 if failed else 0


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


def ask_site(control: str, path: str) -> dict[str, Any]:
    """Asks the site about itself. Not through a proxy, whatever the environment names."""
    address = urlsplit(control)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ASK_S)
    try:
        connection.request("GET", path)
        return cast(dict[str, Any], json.loads(connection.getresponse().read()))
    finally:
        connection.close()


def _fetched_again(again: int, spare: int) -> Check:
    if not spare:
        return Check(not again, "no page was fetched again without need", f"{again:,} were" if again else "")
    return Check(
        again <= spare,
        f"only what the killed master had in hand was fetched again: {again:,} pages",
        f"it can have had {spare:,} at most" if again > spare else "",
    )


def _counted(count: int, right: int, claim: str, verb: str) -> Check:
    return Check(count == right, f"{right:,} {claim}", f"{verb}: {count:,}" if count != right else "")


def _some(urls: Iterable[str], what: str) -> str:
    listed = sorted(urls)
    return f"{len(listed):,} {what}, such as {listed[0]}" if listed else ""
