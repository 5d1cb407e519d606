"""Options that several verbs have."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from p2pcrawl.model.crawl.settings import check_typed
from p2pcrawl.model.json_log_lines import LOG_FORM_VARIABLE

LEVELS = click.Choice(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], case_sensitive=False)


def pairs(what: str, check: Callable[[Iterable[str], str], None] | None = None) -> Any:
    """Reads KEY=VALUE options into a dict. ``check`` refuses keys."""

    def read(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
        pairs = {}
        for value in values:
            name, equals, rest = value.partition("=")
            if not equals or not name.strip():
                flag = option.opts[0]
                raise click.UsageError(f"{flag} {value} needs the form {flag} {what}", ctx)
            pairs[name.strip()] = rest
        if check is not None:
            check(pairs, "the command line")
        return pairs

    return read


settings = click.option(
    "-s", "--set", "settings", multiple=True, metavar="KEY=VALUE", callback=pairs("KEY=VALUE", check_typed),
    help="A setting, such as DOWNLOAD_DELAY=0.5, in any case. May be repeated.",
)  # fmt: skip
arguments = click.option(
    "-a", "--argument", "arguments", multiple=True, metavar="NAME=VALUE", callback=pairs("NAME=VALUE"),
    help="An argument for the spider. May be repeated.",
)  # fmt: skip
extract = click.option(
    "--extract", type=click.Choice(["article", "text", "markdown"]),
    help="Of URLs without a spider: make items of the main text of articles, of all pages that have one, or of whole "
    "pages as Markdown, with title, date and author (docs/articles.md).",
)  # fmt: skip


def with_extract(extract: str | None, arguments: dict[str, str], targets: Iterable[str]) -> dict[str, str]:
    """Adds to the arguments of the spider for plain URLs what it is to make of pages. Raises UsageError where a target
    is a spider, which decides that by itself.
    """
    if extract is None:
        return arguments
    for target in targets:
        if "://" not in target:
            raise click.UsageError(
                f"--extract is for URLs without a spider; {target} is none: a spider has response.article and "
                "response.markdown"
            )
    return {**arguments, "extract": extract}


scrapy = click.option(
    "--scrapy", type=click.Path(exists=True, path_type=Path), metavar="PROJECT",
    help="Take spiders by their names from a Scrapy project, unchanged: its folder, or a spider's .py file. "
    "`crawl` runs them in one slave; its --slaves N takes more cores.",
)  # fmt: skip
slaves = click.option(
    "--slaves", type=click.IntRange(min=0), metavar="N",
    help="Slave processes; as many as cores by default. 0 runs everything in one process.",
)  # fmt: skip
warc = click.option(
    "--warc", type=click.Path(path_type=Path), metavar="DIR",
    help="Keep raw pages (requests and answers as they were sent) in WARC files in DIR.",
)  # fmt: skip
warc_size = click.option(
    "--warc-size",
    default="1GB",
    show_default=True,
    metavar="SIZE",
    help="When a WARC file has SIZE, another one begins.",
)
level = click.option("--loglevel", type=LEVELS, metavar="LEVEL", help="DEBUG, INFO, WARNING, ERROR or CRITICAL.")
debug = click.option("--debug", is_flag=True, help="Show tracebacks, and log at level DEBUG unless told otherwise.")
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON object on standard output."
)
logfile = click.option(
    "--logfile", type=click.Path(), metavar="FILE", help="Write the log to FILE instead of standard error."
)


def _for_machines(ctx: click.Context, parameter: click.Parameter, typed: str | None) -> None:
    """Notes the form of the log where slaves find it, too."""
    if typed is not None:
        os.environ[LOG_FORM_VARIABLE] = typed.lower()


log_format = click.option(
    "--log-format", type=click.Choice(["text", "json"], case_sensitive=False), callback=_for_machines,
    expose_value=False, help="The form of the log: lines of text, or JSON, one object a line (docs/events.md).",
)  # fmt: skip
peer = click.option(
    "--peer", "peer_api", metavar="HOST:PORT", envvar="P2PCRAWL_PEER",
    help="The API of a peer; any one will do. Default: P2PCRAWL_PEER, or a peer that runs on this machine.",
)  # fmt: skip
token = click.option(
    "--token-file", type=click.Path(path_type=Path), metavar="FILE",
    help="The peer's token. Default: P2PCRAWL_TOKEN, or what a peer of yours on this machine has noted.",
)  # fmt: skip


def _called(ctx: click.Context, _: click.Parameter, typed: str | None) -> str | None:
    """Reads a JOB, which ``--last`` takes the place of."""
    last = bool(ctx.params.pop("last", False))
    if last and typed:
        raise click.UsageError("give either a JOB or --last", ctx)
    return "last" if last else typed


def _needed(ctx: click.Context, parameter: click.Parameter, typed: str | None) -> str:
    called = _called(ctx, parameter, typed)
    if not called:
        raise click.MissingParameter(ctx=ctx, param=parameter)
    return called


_last = click.option(
    "--last", is_flag=True, is_eager=True, expose_value=True, help="The job that was submitted last, in place of JOB."
)


def job(command: Any) -> Any:
    """Adds the argument JOB: a number, its first digits, a name, or the option --last in its place."""
    return click.argument("job", metavar="JOB", required=False, callback=_needed)(_last(command))


def job_or_none(command: Any) -> Any:
    """Adds the same to a verb that may do without."""
    return click.argument("job", metavar="[JOB]", required=False, callback=_called)(_last(command))
