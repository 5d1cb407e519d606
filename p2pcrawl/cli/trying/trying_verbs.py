"""The verbs for single pages and new spiders, and their options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from p2pcrawl.cli.screen import options


@click.command("fetch")
@click.argument("url")
@click.option("--headers", is_flag=True, help="Show the headers that were sent and had, in place of the page.")
@options.settings
@options.level
@options.debug
def fetch_page(url: str, headers: bool, settings: dict[str, str], loglevel: str | None, debug: bool) -> int:
    """Get one page as a crawl would, and write it to standard output.

    Redirects are followed, compression is undone, and what robots.txt says does not keep you from looking.

    \b
    p2pcrawl fetch https://example.com > page.html
    p2pcrawl fetch https://example.com --headers
    p2pcrawl fetch https://example.com -s USER_AGENT=mine/1.0 --headers

    The exit code is 1 where the page cannot be had, or its status is 400 or more.
    """
    from p2pcrawl.cli.trying.fetch_verb import run_fetch

    return run_fetch(url, settings, _level(loglevel, debug), headers=headers)


@click.command()
@click.argument("url")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE and open nothing.")
@options.settings
@options.level
@options.debug
def view(url: str, output: Path | None, settings: dict[str, str], loglevel: str | None, debug: bool) -> int:
    """Open one page in a browser as a crawl gets it: without what scripts would add.

    \b
    p2pcrawl view https://example.com
    p2pcrawl view https://example.com -o page.html
    """
    from p2pcrawl.cli.trying.fetch_verb import run_view

    return run_view(url, settings, _level(loglevel, debug), output)


@click.command()
@click.argument("url")
@click.option("--spider", "target", required=True, metavar="TARGET", help="FILE.py, FILE.py:Class or module:Class.")
@click.option("-c", "--callback", default="", metavar="NAME", help="The method that gets the page. Default: parse.")
@click.option("-d", "--depth", type=click.IntRange(min=1), default=1, show_default=True, help="Levels of pages.")
@click.option("-m", "--meta", default="{}", metavar="JSON", help="meta of the request.")
@click.option("--cbkwargs", "cb_kwargs", default="{}", metavar="JSON", help="cb_kwargs of the request.")
@options.settings
@options.arguments
@options.as_json
@options.level
@options.debug
def parse(
    url: str,
    target: str,
    callback: str,
    depth: int,
    meta: str,
    cb_kwargs: str,
    settings: dict[str, str],
    arguments: dict[str, str],
    as_json: bool,
    loglevel: str | None,
    debug: bool,
) -> int:
    """Show which items and requests a spider makes of a page.

    Nothing is stored, and pipelines do not run. With --depth the requests are followed, a hundred pages a level
    at most.

    \b
    p2pcrawl parse https://quotes.toscrape.com --spider quotes.py
    p2pcrawl parse https://quotes.toscrape.com/author/x --spider quotes.py:Quotes -c parse_author
    p2pcrawl parse https://quotes.toscrape.com --spider quotes.py --depth 2 --json

    The exit code is 1 where a callback raised or a page could not be had.
    """
    from p2pcrawl.cli.trying.parse_verb import Parsing, run_parse

    asked = Parsing(
        url,
        target,
        callback,
        depth,
        settings,
        arguments,
        _json(meta, "--meta"),
        _json(cb_kwargs, "--cbkwargs"),
        as_json,
    )
    return run_parse(asked, _level(loglevel, debug))


@click.command("check")
@click.argument("target", metavar="FILE|PROJECT")
@options.settings
@options.arguments
@options.level
@options.debug
def check_contracts(
    target: str, settings: dict[str, str], arguments: dict[str, str], loglevel: str | None, debug: bool
) -> int:
    """Check the contracts of spiders: what the docstrings of their callbacks promise.

    A callback with @url in its docstring is given that page; @returns items 1 10, @returns requests 0, and
    @scrapes text author say what has to come of it; @cb_kwargs and @meta hold JSON for the request.

    \b
    p2pcrawl check quotes.py
    p2pcrawl check quotes.py:Quotes
    p2pcrawl check tutorial          # all spiders of a Scrapy project

    The exit code is 1 where a contract is broken, or none was found.
    """
    from p2pcrawl.cli.trying.check_verb import run_check

    return run_check(target, settings, arguments, _level(loglevel, debug))


@click.command()
@click.argument("name")
@click.argument("url")
@click.option("--project", is_flag=True, help="Write a folder with settings and room for more spiders.")
@options.debug
def new(name: str, url: str, project: bool, debug: bool) -> int:
    """Write a spider to begin from, in NAME.py.

    \b
    p2pcrawl new quotes https://quotes.toscrape.com
    p2pcrawl new quotes https://quotes.toscrape.com --project
    """
    from p2pcrawl.cli.trying.new_verb import run_new

    return run_new(name, url, project=project)


@click.command("list")
@click.argument("target", metavar="FILE|PROJECT", default=".")
@options.as_json
@options.debug
def list_spiders(target: str, as_json: bool, debug: bool) -> int:
    """List the spiders of a project or a file by their names.

    \b
    p2pcrawl list tutorial
    p2pcrawl list spiders.py
    """
    from p2pcrawl.cli.trying.list_verb import run_list

    return run_list(target, as_json=as_json)


@click.command("settings")
@click.argument("target", metavar="[FILE|PROJECT]", default="")
@click.option("--get", "wanted", default="", metavar="NAME", help="Print the value of one setting alone.")
@options.settings
@options.as_json
@options.debug
def settings_shown(target: str, wanted: str, settings: dict[str, str], as_json: bool, debug: bool) -> int:
    """Show the settings as they hold for a spider, or by default.

    \b
    p2pcrawl settings --get DOWNLOAD_TIMEOUT
    p2pcrawl settings quotes.py --get DOWNLOAD_DELAY
    p2pcrawl settings tutorial --json
    """
    from p2pcrawl.cli.trying.list_verb import run_settings

    return run_settings(target, wanted, settings, as_json=as_json)


def _level(loglevel: str | None, debug: bool) -> str:
    return loglevel or ("DEBUG" if debug else "WARNING")


def _json(text: str, option: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{option} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise click.UsageError(f'{option} has the form {{"name": "value"}}')
    return found


ALL = (fetch_page, view, parse, check_contracts, new, list_spiders, settings_shown)
