"""The verb ``submit``: a crawl from here into the cluster, and if wanted its end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from p2pcrawl.cli.cluster.control import buckets_told
from p2pcrawl.cli.cluster.results_verb import fetch, fetched
from p2pcrawl.cli.cluster.sinks_told import sink_words
from p2pcrawl.cli.screen.summary import INTERRUPTED, STARTS
from p2pcrawl.cli.screen.terminal import json_line
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.core.control import CANCELLED, ENDS, INCOMPLETE
from p2pcrawl.crawler.told_end import fruitless, fruitless_words
from p2pcrawl.master.neighbours.absences import absent_told
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.peer.answers.submission import local_refusal, submission_of
from p2pcrawl.spiders.boards.board_file import ENDING
from p2pcrawl.spiders.loading.unchanged import chosen_spiders
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.stores.address import scheme_of
from p2pcrawl.stores.files.opening import STANDARD_OUTPUT, open_local_sink

BEGINS_S = 3.0
"""For how long the end of a job's start is waited for, unless the job itself is."""
LOOK_S = 0.1
LOOK_MAX_S = 1.0
TELL_S = 5.0


def run_submit(
    targets: Sequence[str],
    settings: dict[str, str],
    arguments: dict[str, str],
    *,
    peer: str | None,
    token_file: Path | None,
    label: str,
    wait: bool,
    outputs: Sequence[SinkSpec],
    as_json: bool,
    scrapy: Path | None = None,
) -> int:
    """Prints the job's number, and with ``wait`` how the job ended. Outputs that are URLs go with the job; files are
    made here when it has ended. ``scrapy``: the project that the target is a spider of.
    """
    files = [output.url for output in outputs if not scheme_of(output.url)]
    for path in files:
        if not wait:
            raise ConfigurationError(local_refusal(path))
        open_local_sink(path, replace=True)
    sinks = [output for output in outputs if scheme_of(output.url)]
    chosen, base = chosen_crawls(targets, scrapy)
    submission = submission_of(chosen, base, settled_choice(settings, files), arguments, sinks, label)
    remote = Remote.find(peer, token_file)
    job = int(remote.post("/v1/jobs", submission.plain())["job"])
    items_on_stdout = STANDARD_OUTPUT in files
    if not wait:
        return tell_begun(
            remote, job, "" if sinks else f", and `p2pcrawl results {label or job} -o FILE`", as_json=as_json
        )
    say(f"job {job}: {label or submission.name}")
    begun = time.monotonic()
    try:
        end = waited_for(remote, job)
        seconds = time.monotonic() - begun
        if sinks:
            end = brought_to_sinks(remote, job)
    except KeyboardInterrupt:
        say(f"not waiting any more; job {job} goes on")
        return INTERRUPTED
    code = 1 if fruitless(end) or end["state"] in (CANCELLED, INCOMPLETE) else 0
    for line in end_told(end, seconds):
        say(line)
    for path in files:
        say(fetched(fetch(remote, job, path), path))
    if as_json:
        text = json_line({**end, "seconds": round(seconds, 3), "exit_code": code})
        print(text, file=sys.stderr if items_on_stdout else sys.stdout)
    elif not items_on_stdout:
        print(f"job {job}")
    return code


def tell_begun(remote: Remote, job: int, rest: str, *, as_json: bool) -> int:
    """Prints the number of a job that is in the cluster, and stays for a moment to see whether its spider could be
    opened: 1 if it could not, with the reason.
    """
    print(json.dumps({"job": job}) if as_json else f"job {job}")
    until = time.monotonic() + BEGINS_S
    while (status := _glance(remote, job)) is not None and time.monotonic() < until:
        if status["state"] == CANCELLED:
            say(f"{status['name']} cannot be run: {status['reason'] or 'it was cancelled'}")
            return 1
        if status["done"] or status["failed"] or status["state"] in ENDS:
            break
        time.sleep(LOOK_S)
    if not as_json:
        say(f"see `p2pcrawl jobs`{rest}")
    return 0


def _glance(remote: Remote, job: int) -> dict[str, Any] | None:
    """Asks how a job stands; None where nobody can say so now. The job is in the cluster all the same."""
    try:
        status: dict[str, Any] = remote.get(job_path(job))
    except P2PCrawlError:
        return None
    return status


def chosen_crawls(
    targets: Sequence[str], scrapy: Path | None
) -> tuple[type[Spider] | str | Sequence[str], Settings | RankedSettings]:
    """Returns the same of several targets, which are boards. Raises ConfigurationError for others."""
    if len(targets) == 1:
        return chosen_crawl(targets[0], scrapy)
    if scrapy is not None or any(not target.strip().endswith(ENDING) for target in targets):
        raise ConfigurationError(
            "one job has one spider, or several boards (.toml): submit the others as jobs of their own"
        )
    return targets, Settings()


def chosen_crawl(target: str, scrapy: Path | None) -> tuple[type[Spider] | str, Settings | RankedSettings]:
    """Returns what to crawl, and the settings that those typed go over."""
    if scrapy is None:
        return target, Settings()
    spiders, settings = chosen_spiders(scrapy, [target], {})
    return spiders[0], settings


def settled_choice(settings: dict[str, str], files: list[str]) -> dict[str, str]:
    """Returns the settings, with files in the place of the spider's own FEEDS."""
    own_feeds = all(name.lower() != "feeds" for name in settings)
    return {**settings, "FEEDS": "{}"} if files and own_feeds else settings


def waited_for(remote: Remote, job: int, *, doing: str = "being fetched") -> dict[str, Any]:
    """Looks at the job until it is over; tells now and then how it goes. ``doing``: what becomes of pages."""
    pause_s, told_at, told = LOOK_S, time.monotonic(), -1
    while True:
        status: dict[str, Any] = remote.get(job_path(job))
        if status["state"] in ENDS:
            return status
        now = time.monotonic()
        if now - told_at >= TELL_S and status["pages"] != told:
            told_at, told = now, status["pages"]
            say(f"{counted(told, 'page')}, {status['queued']:,} queued, {status['leased']:,} {doing}")
        time.sleep(pause_s)
        pause_s = min(LOOK_MAX_S, pause_s * 1.2)


def brought_to_sinks(remote: Remote, job: int) -> dict[str, Any]:
    """Looks at the job until nothing of it waits for a sink; tells now and then what does."""
    pause_s, told_at = LOOK_S, time.monotonic()
    while True:
        status: dict[str, Any] = remote.get(job_path(job))
        waiting = [sink for sink in status["sinks"] if sink["waiting"]]
        if not waiting and not status["missing"]:
            return status
        if time.monotonic() - told_at >= TELL_S:
            told_at = time.monotonic()
            for sink in waiting:
                say(f"{status['name']} is {status['state']}; {sink_words(sink)}")
        time.sleep(pause_s)
        pause_s = min(LOOK_MAX_S, pause_s * 1.2)


def end_told(c: dict[str, Any], seconds: float) -> list[str]:
    """Tells in lines how a job has ended."""
    why = f" ({c['reason']})" if c["reason"] else ""
    got = f"{counted(c['pages'], 'page')}, {counted(c['items'], 'item')}"
    lines = [f"{c['name']} {c['state']}{why}: {got} in {seconds:.1f} s"]
    for title in ("failed", "dropped", "marked", "retries"):
        if reasons := c.get(f"{title}_by_reason"):
            lines.append(f"  {title}: " + ", ".join(f"{name} {n:,}" for name, n in reasons.items()))
    holds = "holds" if c["conserved"] else "DOES NOT HOLD (this is a bug)"
    lines.append(
        f"  discovered {c['discovered']:,} = done {c['done']:,} + failed {c['failed']:,} + dropped {c['dropped']:,}"
        f" + queued {c['queued']:,} + leased {c['leased']:,} over {counted(len(c['masters']), 'master')}: {holds}"
        + STARTS
    )
    lines += [f"  {sink_words(sink)}" for sink in c["sinks"]]
    if c["away"]:
        lines.append(f"  not final: {absent_told(c['away'])}, and may know of more")
    if c["missing"]:
        lines.append(f"  without what {', '.join(m[:8] for m in c['missing'])} has: it did not answer")
    if c["not_whole"]:
        lines.append(f"  incomplete: {buckets_told(c['not_whole'])}; who had the rest of them is not here")
    if fruitless(c):
        lines.append(fruitless_words([c]))
    return lines


def say(line: str) -> None:
    """Tells a line on standard error."""
    line = on_one_line(line)
    print(line if line.startswith(" ") else f"p2pcrawl: {line}", file=sys.stderr, flush=True)
