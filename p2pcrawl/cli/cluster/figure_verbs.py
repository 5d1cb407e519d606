"""The verbs that show figures of a cluster, and the one that changes a host: their options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from p2pcrawl.cli.screen import options

_count = click.IntRange(min=1, max=500)


@click.command()
@options.job
@click.option("--kind", default="", metavar="KIND", help="Tell of this kind alone, such as http-5xx.")
@click.option(
    "-n", "--examples", "limit", type=click.IntRange(min=1, max=100), default=3, show_default=True, metavar="N",
    help="Examples of each kind, of as many hosts.",
)  # fmt: skip
@options.peer
@options.as_json
@options.debug
def errors(job: str, kind: str, limit: int, peer_api: str | None, as_json: bool, debug: bool) -> int:
    """Show what failed of a job: kinds, how many pages of how many hosts, and examples.

    It is counted from the records of all masters, so a death takes nothing away.

    \b
    p2pcrawl errors 1234
    p2pcrawl errors --last --kind http-5xx -n 20
    """
    from p2pcrawl.cli.cluster.figures_told import run_errors

    return run_errors(job, kind, limit, peer_api, as_json=as_json)


@click.command()
@options.job_or_none
@click.option(
    "--sort", type=click.Choice(["depth", "late", "name"]), default="depth", show_default=True,
    help="What comes first: the longest queue, the host that is through last, or by name.",
)  # fmt: skip
@click.option("--find", default="", metavar="TEXT", help="Hosts whose names hold TEXT.")
@click.option("--changed", is_flag=True, help="Hosts whose delay a person has changed, or that are paused.")
@click.option("-n", "--limit", type=_count, default=20, show_default=True, metavar="N", help="How many hosts.")
@options.peer
@options.as_json
@options.debug
def hosts(
    job: str | None, sort: str, find: str, changed: bool, limit: int, peer_api: str | None, as_json: bool, debug: bool
) -> int:
    """Show which hosts are slow, and why: of a JOB, or of the cluster.

    \b
    p2pcrawl hosts                       # the longest queues of all jobs
    p2pcrawl hosts 1234 --sort late      # what this job will wait for last
    p2pcrawl hosts --changed             # what people have changed; see host
    """
    from p2pcrawl.cli.cluster.figures_told import run_hosts

    return run_hosts(job, sort, find, limit, peer_api, changed=changed, as_json=as_json)


@click.command()
@click.argument("name", metavar="HOST")
@click.option("--delay", type=float, metavar="SECONDS", help="Leave SECONDS between two requests, in all jobs.")
@click.option("--default", is_flag=True, help="Leave the delay to the jobs again.")
@click.option("--pause/--resume", "paused", default=None, help="Ask it nothing until --resume.")
@options.peer
@options.token
@options.as_json
@options.debug
def host(
    name: str,
    delay: float | None,
    default: bool,
    paused: bool | None,
    peer_api: str | None,
    token_file: Path | None,
    as_json: bool,
    debug: bool,
) -> int:
    """Show one host in detail, or change how it is asked while crawls run.

    A change holds for all jobs and lasts through restarts. No delay makes requests come faster than the host's
    robots.txt wants.

    \b
    p2pcrawl host example.org
    p2pcrawl host example.org --delay 5
    p2pcrawl host example.org --default --resume
    p2pcrawl host example.org --pause
    """
    from p2pcrawl.cli.cluster.figures_told import run_host

    if delay is not None and default:
        raise click.UsageError("give either --delay or --default")
    changes: dict[str, Any] = {}
    if delay is not None or default:
        changes["delay_s"] = delay
    if paused is not None:
        changes["paused"] = paused
    return run_host(name, changes, peer_api, token_file, as_json=as_json)


@click.command()
@options.job_or_none
@click.option(
    "--by", type=click.Choice(["hour", "day", "host", "error"]), default="hour", show_default=True,
    help="What each row stands for.",
)  # fmt: skip
@click.option(
    "-n", "--limit", type=click.IntRange(min=1, max=1_000), default=24, show_default=True, metavar="N",
    help="How many rows: the latest hours or days, the hosts or errors with most.",
)  # fmt: skip
@options.peer
@options.as_json
@options.debug
def stats(job: str | None, by: str, limit: int, peer_api: str | None, as_json: bool, debug: bool) -> int:
    """Show what was done when and where: for a JOB, or for all.

    Work is counted, so a page that was fetched twice is counted twice. Hours and days are those of UTC.

    \b
    p2pcrawl stats                       # the last hours of all jobs
    p2pcrawl stats 1234 --by host -n 50
    p2pcrawl stats --last --by error
    """
    from p2pcrawl.cli.cluster.figures_told import run_stats

    return run_stats(job, by, limit, peer_api, as_json=as_json)


ALL: Final = (errors, hosts, host, stats)
