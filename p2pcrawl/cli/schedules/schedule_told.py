"""The verb ``schedule``: asks a peer, and tells the answer to people, or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p2pcrawl.cli.cluster.control import urls_of_file
from p2pcrawl.cli.cluster.submit import chosen_crawl
from p2pcrawl.cli.screen.terminal import show, show_answer, show_json
from p2pcrawl.cli.screen.words import counted, in_columns
from p2pcrawl.client.remote import Remote
from p2pcrawl.client.remote_schedule import schedule_path
from p2pcrawl.master.neighbours.absences import moment_told
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.peer.answers.submission import submission_of
from p2pcrawl.spiders.page.typed_urls import checked_url
from p2pcrawl.stores.address import scheme_of
from p2pcrawl.stores.kinds import read_sink

RUNS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Calling:
    """The peer to ask, and the form of what is told."""

    peer: str | None
    token_file: Path | None
    as_json: bool

    def remote(self) -> Remote:
        """Finds the peer."""
        return Remote.find(self.peer, self.token_file)


def scheduled_crawl(
    target: str, settings: dict[str, str], arguments: dict[str, str], outputs: Sequence[str], scrapy: Path | None
) -> dict[str, Any]:
    """Makes the crawl of a schedule. Raises ConfigurationError for one that cannot work."""
    if files := [output for output in outputs if not scheme_of(output)]:
        raise ConfigurationError(
            f"{files[0]} is a file, and the masters of a cluster write into no file: fetch the items of a run with "
            f"`p2pcrawl results NAME -o {files[0]}`"
        )
    chosen, base = chosen_crawl(target, scrapy)
    sinks = [read_sink(output) for output in outputs]
    return {"crawl": submission_of(chosen, base, dict(settings), arguments, sinks).plain()}


def scheduled_urls(job: str, typed: Sequence[str]) -> dict[str, Any]:
    """Reads the URLs that a schedule puts into a job. Raises ConfigurationError."""
    urls: list[str] = []
    for each in typed:
        urls += [checked_url(each)] if "://" in each else urls_of_file(Path(each))
    if not urls:
        raise ConfigurationError(f"there is no URL in {', '.join(typed)}")
    return {"inject": {"job": job, "urls": urls}}


def run_add(body: dict[str, Any], calling: Calling) -> int:
    """Makes a schedule, and tells when it is due first."""
    answer = calling.remote().post("/v1/schedules", body)
    if calling.as_json:
        show_json(answer)
    else:
        show(f"schedule {answer['name']}: {answer['does']}, {_when(answer)}, next at {_first(answer)}")
    _say_missing(answer)
    return 0


def run_schedules(calling: Calling) -> int:
    """Prints all schedules."""
    show_answer(calling.remote().get("/v1/schedules"), schedules_words, as_json=calling.as_json)
    return 0


def run_show(name: str, calling: Calling) -> int:
    """Prints one schedule, with its runs."""
    show_answer(calling.remote().get(schedule_path(name)), schedule_words, as_json=calling.as_json)
    return 0


def run_steer(verb: str, name: str, calling: Calling) -> int:
    """Lets the cluster do it, and tells what it came to."""
    remote = calling.remote()
    if verb == "remove":
        answer = remote.change("DELETE", schedule_path(name))
    else:
        answer = remote.post(schedule_path(name, "run" if verb == "run-now" else verb), {})
    if calling.as_json:
        show_json(answer)
    elif verb == "run-now":
        show(f"schedule {name}: job {answer['job']}")
    else:
        show(f"schedule {name} is {answer['state']}" + (f", next at {_first(answer)}" if answer["next"] else ""))
    _say_missing(answer)
    return 0


def schedules_words(answer: dict[str, Any]) -> Iterator[str]:
    """Tells of all schedules, a line each."""
    if not answer["schedules"]:
        yield "no schedule yet; `p2pcrawl schedule add NAME CRON TARGET` makes one"
        return
    rows = [["schedule", "state", "when", "does", "next", "last run"]]
    for each in answer["schedules"]:
        last = _run_words(each["runs"][-1]) if each["runs"] else "-"
        rows.append([each["name"], each["state"], _when(each), each["does"], _first(each), last])
    yield from in_columns(rows, set())


def schedule_words(answer: dict[str, Any]) -> Iterator[str]:
    """Tells of one schedule, and its last runs."""
    yield f"schedule {answer['name']} ({answer['state']}): {answer['does']}, {_when(answer)}"
    kept = f"the jobs of the last {counted(answer['keep'], 'run')} stay" if answer["keep"] else "all jobs stay"
    yield f"  overlap {answer['overlap']}, missed {answer['missed']}, {kept}; master {answer['owner'][:8]} sees to it"
    if answer["next"]:
        yield f"  next: {', '.join(map(moment_told, answer['next']))}"
    if not answer["runs"]:
        yield "  no run yet"
    for run in answer["runs"][: -RUNS_SHOWN - 1 : -1]:
        yield f"  {_run_words(run)}"
    if len(answer["runs"]) > RUNS_SHOWN:
        yield f"  and {counted(len(answer['runs']) - RUNS_SHOWN, 'run')} before those"


def _run_words(run: dict[str, Any]) -> str:
    told = f"{moment_told(run['at'])} {run['outcome']}"
    if run["job"]:
        told += f", job {run['job']} {run['state'] or 'not known here'}"
    if run["by_hand"]:
        told += ", by hand"
    return on_one_line(told + (f": {run['why']}" if run["why"] else ""))


def _when(answer: dict[str, Any]) -> str:
    return f"{answer['cron']} {answer['zone']}"


def _first(answer: dict[str, Any]) -> str:
    return moment_told(answer["next"][0]) if answer["next"] else "-"


def _say_missing(answer: dict[str, Any]) -> None:
    if missing := answer.get("missing"):
        names = ", ".join(node[:8] for node in missing)
        print(f"p2pcrawl: {names} will learn of it when back", file=sys.stderr, flush=True)
