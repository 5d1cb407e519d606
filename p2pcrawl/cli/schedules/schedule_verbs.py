"""The verb ``schedule`` and its options. What it does is imported when it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from p2pcrawl.cli.screen import options


@click.group()
def schedule() -> None:
    """Crawls on a calendar, kept by the cluster itself: any peer can be asked (docs/schedule.md).

    \b
    p2pcrawl schedule add news "*/5 * * * *" news.toml
    p2pcrawl schedule list
    p2pcrawl schedule show news
    p2pcrawl results news -o news.jsonl                # of its last run: the jobs are called as the schedule is
    """


@schedule.command("add")
@click.argument("name")
@click.argument("cron", metavar="CRON")
@click.argument("target", metavar="[TARGET]", required=False)
@options.scrapy
@click.option(
    "--tz", "zone", default="UTC", show_default=True, metavar="ZONE",
    help="The time zone that CRON is read in, such as Europe/Berlin.",
)  # fmt: skip
@click.option(
    "--overlap", type=click.Choice(["skip", "queue", "allow"]), default="skip", show_default=True,
    help="What becomes of a run whose turn comes while an earlier one is not over.",
)  # fmt: skip
@click.option(
    "--missed", type=click.Choice(["once", "skip"]), default="once", show_default=True,
    help="When no master was there for the last turns: make up for one of them, or for none.",
)  # fmt: skip
@click.option(
    "--keep", type=click.IntRange(0, 50), default=0, show_default=True, metavar="N",
    help="Jobs of the last N runs stay; older ones are deleted, with their items, when they are over. 0: all stay.",
)  # fmt: skip
@click.option("--replace", is_flag=True, help="Take the place of the schedule of this name; its runs stay known.")
@click.option("--inject", "fed", metavar="JOB", help="Put URLs into JOB each time, in place of a crawl.")
@click.option(
    "--urls", "urls", multiple=True, metavar="FILE|URL",
    help="With --inject: which. A file has one on each line, and is read now; - is standard input. May be repeated.",
)  # fmt: skip
@options.extract
@options.settings
@options.arguments
@click.option(
    "-o", "--output", "outputs", multiple=True, metavar="URL",
    help="Where the masters bring the items of each run: a database, an object store.",
)  # fmt: skip
@options.peer
@options.token
@options.as_json
@options.debug
def add_schedule(
    name: str,
    cron: str,
    target: str | None,
    scrapy: Path | None,
    zone: str,
    overlap: str,
    missed: str,
    keep: int,
    replace: bool,
    fed: str | None,
    urls: tuple[str, ...],
    extract: str | None,
    settings: dict[str, str],
    arguments: dict[str, str],
    outputs: tuple[str, ...],
    peer_api: str | None,
    token_file: Path | None,
    as_json: bool,
    debug: bool,
) -> int:
    """Submit TARGET again and again, at the moments of the cron expression CRON.

    TARGET and its options are those of `submit`; its code travels now, and each run is of that code. CRON has five
    fields (minute, hour, day, month, weekday), or six with seconds before them, or is @hourly, @daily, @weekly,
    @monthly or @yearly. Each run is a job of its own, called NAME, and is begun once, though any master may die at that
    moment.

    \b
    p2pcrawl schedule add news "*/5 * * * *" news.toml
    p2pcrawl schedule add shop "30 2 * * 1-5" shop.py --tz Europe/Berlin -a section=books --overlap queue
    p2pcrawl schedule add press "@hourly" https://example.com --extract article -o mongodb://db/press.articles
    p2pcrawl schedule add feed "0 * * * *" --inject news --urls entries.txt
    p2pcrawl schedule add news "*/10 * * * *" news.toml --replace      # from now on with this code and calendar
    """
    if (target is None) == (fed is None):
        raise click.UsageError("give either a TARGET to submit, or --inject JOB with --urls")
    if (fed is None) != (not urls):
        raise click.UsageError("--inject JOB and --urls FILE|URL go together")
    from p2pcrawl.cli.schedules.schedule_told import Calling, run_add, scheduled_crawl, scheduled_urls

    if target is not None:
        found = options.with_extract(extract, arguments, [target if scrapy is None else str(scrapy)])
        task = scheduled_crawl(target, settings, found, outputs, scrapy)
    else:
        if settings or arguments or outputs or extract or scrapy:
            raise click.UsageError("what is put into a job has that job's settings, arguments and outputs")
        task = scheduled_urls(str(fed), urls)
    when: dict[str, object] = {"name": name, "cron": cron, "zone": zone, "overlap": overlap, "missed": missed}
    when |= {"keep": keep, "replace": replace}
    return run_add({**when, **task}, Calling(peer_api, token_file, as_json))


@schedule.command("list")
@options.peer
@options.token
@options.as_json
@options.debug
def list_schedules(peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
    """List the cluster's schedules: what each does, when it is due next, and how its last run stands.

    \b
    p2pcrawl schedule list
    p2pcrawl schedule list --json
    """
    from p2pcrawl.cli.schedules.schedule_told import Calling, run_schedules

    return run_schedules(Calling(peer_api, token_file, as_json))


@schedule.command("show")
@click.argument("name")
@options.peer
@options.token
@options.as_json
@options.debug
def show_schedule(name: str, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
    """Show one schedule, with its last runs and their jobs.

    \b
    p2pcrawl schedule show news
    p2pcrawl schedule show news --json
    """
    from p2pcrawl.cli.schedules.schedule_told import Calling, run_show

    return run_show(name, Calling(peer_api, token_file, as_json))


def _steering_verb(verb: str, text: str) -> click.Command:
    """Makes a verb that steers a schedule; ``text`` is its help."""

    @schedule.command(verb, help=text)
    @click.argument("name")
    @options.peer
    @options.token
    @options.as_json
    @options.debug
    def command(name: str, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
        from p2pcrawl.cli.schedules.schedule_told import Calling, run_steer

        return run_steer(verb, name, Calling(peer_api, token_file, as_json))

    return command


_steering_verb(
    "pause",
    """Let a schedule rest: no run is begun until `schedule resume`. Jobs that it has begun go on.

    \b
    p2pcrawl schedule pause news
    """,
)
_steering_verb(
    "resume",
    """Let a paused schedule go on. What was due meanwhile is not made up for.

    \b
    p2pcrawl schedule resume news
    """,
)
_steering_verb(
    "remove",
    """Remove a schedule, for good. Jobs that it has begun stay, and go on.

    \b
    p2pcrawl schedule remove news
    """,
)
_steering_verb(
    "run-now",
    """Run a schedule now, out of its turn, whatever else of it runs.

    \b
    p2pcrawl schedule run-now news
    p2pcrawl schedule run-now news --json              # {"job": ..., ...}
    """,
)

ALL: Final = (schedule,)
