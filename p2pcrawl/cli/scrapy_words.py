"""Commands in Scrapy's words, as scripts give them to ``cmdline.execute``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from p2pcrawl.cli import run
from p2pcrawl.spiders.finding.modules import CrawlBegins, importing

LONG: Final = {"--output": "-o", "--overwrite-output": "-O", "--loglevel": "--loglevel", "--logfile": "--logfile"}
SHORT: Final = {"-o": "-o", "-O": "-O", "-a": "-a", "-s": "-s", "-L": "--loglevel"}


def execute(argv: Sequence[str] | None = None, settings: None = None) -> NoReturn:
    """Runs ``scrapy crawl NAME``, ``runspider FILE``, ``list`` or ``check``, and ends the process with its
    exit code, as Scrapy does.

    ``argv``: the words of the command, ``scrapy`` first; those of this process where there are none. Settings of the
    project are read where it lies. In a process that imports the script, nothing is run.
    """
    if importing():
        raise CrawlBegins
    if settings is not None:
        _refuse("execute() takes no settings here: write them into settings.py, or as -s NAME=VALUE")
    words = list(sys.argv if argv is None else argv)[1:]
    sys.exit(run(_ours(words)))


def _ours(words: list[str]) -> list[str]:
    """Returns a command in our words."""
    given = iter(words)
    verb, named, rest = next(given, ""), "", list[str]()
    for word in given:
        name, equals, value = word.partition("=")
        if word == "--nolog":
            rest += ["--loglevel", "CRITICAL"]
        elif name in LONG and name.startswith("--"):
            rest += [LONG[name], value if equals else next(given, "")]
        elif word[:2] in SHORT and not word.startswith("--"):
            rest += [SHORT[word[:2]], word[2:] or next(given, "")]
        elif word.startswith("-") or named:
            _refuse(f"`scrapy {verb}` does not take {word} here")
        else:
            named = word
    match verb:
        case "crawl":
            return ["crawl", "--scrapy", ".", named, *rest]
        case "runspider":
            return ["crawl", "--scrapy", named, *rest]
        case "list" if not named and not rest:
            return ["list", "."]
        case "check" if not named:
            return ["check", ".", *rest]
    _refuse(f"`scrapy {verb}` is not here: `scrapy crawl NAME`, `runspider FILE`, `list` and `check` are")


def _refuse(told: str) -> NoReturn:
    print(f"p2pcrawl: {told}", file=sys.stderr)
    sys.exit(2)
