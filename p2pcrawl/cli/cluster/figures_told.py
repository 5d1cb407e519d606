"""The verbs ``errors``, ``hosts``, ``host`` and ``stats``: what failed, which hosts are slow, what was done when."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from p2pcrawl.cli.screen.terminal import show_answer
from p2pcrawl.cli.screen.words import counted, in_columns
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.core.bench.slowness import duration
from p2pcrawl.master.neighbours.absences import moment_told
from p2pcrawl.model.printable import on_one_line


def run_errors(called: str, kind: str, limit: int, peer: str | None, *, as_json: bool) -> int:
    """Prints what failed of a job, by kind."""
    remote = Remote.find(peer)
    only = {"kind": kind} if kind else {}
    answer = remote.get(job_path(called, "errors"), limit=limit, **only)
    return _print_figures(answer, errors_words, as_json)


def run_hosts(
    called: str | None, sort: str, find: str, limit: int, peer: str | None, *, changed: bool, as_json: bool
) -> int:
    """Prints the first hosts of a job, or of all."""
    remote = Remote.find(peer)
    asked = {
        "sort": sort,
        "limit": limit,
        **({"find": find} if find else {}),
        **({"changed": "true"} if changed else {}),
    }
    answer = remote.get(job_path(called, "hosts") if called else "/v1/hosts", **asked)
    return _print_figures(answer, hosts_words, as_json)


def run_host(name: str, changes: dict[str, Any], peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Changes a host if that is asked for, and prints it in detail."""
    remote, path = Remote.find(peer, token_file), f"/v1/hosts/{quote(name, safe='')}"
    if not changes:
        return _print_figures(remote.get(path), host_words, as_json)
    return _print_figures(remote.change("PATCH", path, changes), change_words, as_json)


def run_stats(called: str | None, by: str, limit: int, peer: str | None, *, as_json: bool) -> int:
    """Prints what was done when, and where."""
    remote = Remote.find(peer)
    answer = remote.get(job_path(called, "statistics") if called else "/v1/statistics", by=by, limit=limit)
    return _print_figures(answer, stats_words, as_json)


def _print_figures(answer: dict[str, Any], in_words: Any, as_json: bool) -> int:
    show_answer(answer, in_words, as_json=as_json)
    if answer["missing"]:
        names = ", ".join(node[:8] for node in answer["missing"])
        print(f"p2pcrawl: {on_one_line(f'without {names}: it did not answer')}", file=sys.stderr, flush=True)
    return 0


def errors_words(answer: dict[str, Any]) -> Iterator[str]:
    """Tells of failures in words."""
    if not answer["errors"]:
        yield f"nothing of job {answer['job']} ({answer['name']}) has failed"
        return
    for kind in answer["errors"]:
        hosts = f" of {counted(kind['hosts'], 'host')}" if kind["hosts"] else ""
        yield f"{kind['kind']}: {counted(kind['count'], 'page')}{hosts}"
        for page in kind["examples"]:
            status = f", status {page['status']}" if page["status"] else ""
            others = f" ({page['of_host']:,} of {page['host']})" if page["of_host"] > 1 else ""
            yield f"  {page['url']}{others}, {moment_told(page['at'])}{status}"
            if page["detail"]:
                yield f"    {page['detail'].strip().splitlines()[-1]}"


def hosts_words(answer: dict[str, Any]) -> Iterator[str]:
    """Tells of hosts in words."""
    if not answer["hosts"]:
        yield "no host has anything queued"
        return
    rows = [("HOST", "QUEUED", "LEASED", "DELAY", "NEXT", "OWNER", "WHY")]
    for host in answer["hosts"]:
        delay = f"{host['delay_s']:g} s" if host["delay_s"] else "-"
        figures = (f"{host['queued']:,}", f"{host['leased']:,}", delay, _until(host["next_at"]))
        rows.append((host["host"], *figures, host["owner"][:8], host["why_slow"]))
    yield from in_columns(rows, right={1, 2, 3, 4})
    if (others := answer["total"] - len(answer["hosts"])) > 0:
        yield f"and {counted(others, 'host')} more; -n and --find show others"


def host_words(host: dict[str, Any]) -> Iterator[str]:
    """Tells of one host in words."""
    yield host["host"]
    yield f"  owner    {host['owner'][:8]}"
    if not host["known"]:
        yield "  nothing is known of it: nothing is queued, and it was not asked lately"
        return
    queued = ", ".join(f"{count:,} of job {job}" for job, count in host["queued_by_job"].items())
    yield f"  queued   {host['queued']:,}, {host['leased']:,} leased" + (f" ({queued})" if queued else "")
    yield f"  delay    {host['delay_s']:g} s ({host['delay_from']})"
    if host["ordered_s"] is not None:
        yield f"  changed  a person has set its delay to {host['ordered_s']:g} s"
    if host["paused"]:
        yield "  paused   nothing of it is asked until --resume"
    if host["next_at"] is not None:
        yield f"  next     in {_until(host['next_at'])}"
    if host["through_s"] is not None:
        yield f"  through  in {duration(host['through_s'])}, if it stays so"
    if host["unanswered"]:
        yield f"  silent   for {duration(host['silent_s'])}: {counted(host['unanswered'], 'request')} without an answer"
    if host["why_slow"]:
        yield f"  why      {host['why_slow']}"
    for rules in host["robots"]:
        wants = f", wants {rules['crawl_delay_s']:g} s between requests" if rules["crawl_delay_s"] else ""
        yield f"  robots   {rules['origin']} for {rules['agent']}: {rules['verdict']}{wants}"


def stats_words(answer: dict[str, Any]) -> Iterator[str]:
    """Tells of statistics in words."""
    total, by = answer["total"], answer["by"]
    if not total["fetches"]:
        yield "nothing has been fetched"
        return
    if by == "error":
        kinds = [(row["name"], f"{row['failed']:,}", f"{row['retries']:,}") for row in answer["rows"]]
        yield from in_columns([("ERROR", "FAILED", "TRIED AGAIN"), *kinds], right={1, 2})
        return
    rows = [(by.upper(), "PAGES", "ITEMS", "BYTES", "FAILED", "TRIED AGAIN", "" if by == "host" else "MOST")]
    form = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d"}.get(by, "")
    for row in [*answer["rows"], {**total, "name": "total"}]:
        name = time.strftime(form, time.gmtime(row["at"])) if row["at"] is not None else row["name"]
        pages, items, bytes_, failed, retries = (
            f"{row[each]:,}" for each in ("pages", "items", "bytes", "failed", "retries")
        )
        most = next(iter(row["errors"]), "") if by != "host" else ""
        rows.append((name, pages, items, bytes_, failed, retries, most))
    yield from in_columns(rows, right={1, 2, 3, 4, 5})


def change_words(answer: dict[str, Any]) -> Iterator[str]:
    """Tells of a host that was changed."""
    yield f"{answer['host']}: {_order(answer['set'])}; it was {_order(answer['was'])}"


def _order(order: dict[str, Any]) -> str:
    delay = "the delay of its jobs" if order["delay_s"] is None else f"a delay of {order['delay_s']:g} s"
    return delay + (", paused" if order["paused"] else "")


def _until(at: float | None) -> str:
    return "-" if at is None else duration(max(0.0, at - time.time()))
