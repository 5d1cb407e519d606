"""The verbs and their options. What a verb does is imported when it is used."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import click

from p2pcrawl import __version__
from p2pcrawl.cli.boards import board_verbs
from p2pcrawl.cli.cluster import cluster_verbs
from p2pcrawl.cli.reextract_verb import reextract
from p2pcrawl.cli.schedules import schedule_verbs
from p2pcrawl.cli.screen import options
from p2pcrawl.cli.trying import trying_verbs


class Verbs(click.Group):
    """Names the nearest verb when there is no such verb."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(_no_verb(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


def _no_verb(typed: str, verbs: list[str]) -> str:
    if "://" in typed or typed.endswith(".py") or ".py:" in typed:
        return f"{typed!r} is not a verb; did you mean `p2pcrawl crawl {typed}`?"
    near = get_close_matches(typed.lower(), verbs, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(verbs)}"
    return f"there is no verb {typed!r}; {hint}"


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", message="p2pcrawl %(version)s")
def p2pcrawl() -> None:
    """A web crawler that a kill -9 cannot hurt.

    \b
    p2pcrawl demo                                      see it work, on a site of its own
    p2pcrawl crawl https://example.com -o pages.jsonl  follow links within the host
    p2pcrawl crawl quotes.py -o quotes.csv             run a spider
    p2pcrawl shell https://example.com                 fetch one page and try selectors on it
    p2pcrawl new quotes https://quotes.toscrape.com    write a spider; see also parse, check, list, fetch, view
    p2pcrawl why URL --data run1                       what became of a URL, and why; --summary: of all
    p2pcrawl reextract quotes.py --warc raw            the spider over stored pages, without a request

    \b
    p2pcrawl peer                                      be one of the peers of a cluster; see peer --help
    p2pcrawl submit quotes.py --wait -o quotes.csv     let the cluster crawl
    p2pcrawl status                                    who is in the cluster, and who does how much

    Exit codes: 0 done (failed pages are in the summary), 1 failed (no page could be had, the disk is
    full), 2 a mistake in what was typed or written, 130 interrupted (143: a crawl stopped by SIGTERM).
    """


@p2pcrawl.command()
@click.argument("targets", nargs=-1, metavar="TARGET...")
@options.scrapy
@click.option(
    "-o", "--output", "appended", multiple=True, metavar="FILE|URL",
    help="Append items to FILE, or bring them to URL: a database, an object store, a webhook; - is standard output.",
)  # fmt: skip
@click.option(
    "-O", "--overwrite", "replaced", multiple=True, metavar="FILE|URL", help="The same, replacing what is there."
)
@options.slaves
@click.option("--together", is_flag=True, help="Crawl several boards in one job, in place of one job for each.")
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR", help="Keep the crawl in DIR, so that it can be resumed."
)
@click.option(
    "--again", is_flag=True,
    help="Begin anew if the crawl in --data has ended; what DIR kept of it goes, outputs stay. Else go on with it.",
)  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(min=1), metavar="N",
    help="Visit each page N times at most, then end: REVISIT_ROUNDS. Without, a crawl with periods goes on.",
)  # fmt: skip
@options.warc
@options.warc_size
@options.extract
@options.settings
@options.arguments
@options.as_json
@options.level
@options.logfile
@options.log_format
@options.debug
def crawl(
    targets: tuple[str, ...],
    scrapy: Path | None,
    appended: tuple[str, ...],
    replaced: tuple[str, ...],
    slaves: int | None,
    together: bool,
    data: Path | None,
    again: bool,
    rounds: int | None,
    warc: Path | None,
    warc_size: str,
    extract: str | None,
    settings: dict[str, str],
    arguments: dict[str, str],
    as_json: bool,
    loglevel: str | None,
    logfile: str | None,
    debug: bool,
) -> int:
    """Crawl: a URL, a spider's file (spider.py or spider.py:Class), module:Class, or a board's .toml.

    A URL without a spider follows links within its host and tells url, status, title and depth of each
    page. The format of an output is that of its name: .jsonl, .json, .csv or .xml, each also with .gz or .zst, or
    .parquet.

    \b
    p2pcrawl crawl https://example.com -o pages.jsonl
    p2pcrawl crawl quotes.py -O quotes.csv -a tag=humor -s DOWNLOAD_DELAY=0.5
    p2pcrawl crawl --scrapy tutorial quotes -o quotes.json   # a spider of a Scrapy project, as it is
    p2pcrawl crawl quotes.py -o quotes.jsonl --data run1     # run it again and it goes on
    p2pcrawl crawl quotes.py -o quotes.jsonl --data run1 --again     # each night: anew when the last one has ended
    p2pcrawl crawl two.py:Books two.py:Toys -o all.csv       # two spiders side by side, their items in one file
    p2pcrawl crawl https://example.com -s DEPTH_LIMIT=2 -o - | head
    p2pcrawl crawl news.py -o news.jsonl --data news -s REVISIT_INDEX=600     # goes on, asks for what is new
    p2pcrawl crawl press.toml                                # a crawl as data: docs/boards.md
    p2pcrawl crawl --together press.toml sports.toml         # several boards in one job
    p2pcrawl crawl https://example.com --extract article -o articles.jsonl
    p2pcrawl crawl https://example.com --warc raw            # raw pages, for pywb and others: docs/warc.md
    p2pcrawl crawl https://example.com -o raw/site.warc.gz   # the same, in files raw/site-*.warc.gz

    Ctrl-C or SIGTERM once lets open requests end and stops; twice stops at once. With --data both can be resumed
    by the same command. The exit code is 130 after Ctrl-C, 143 after SIGTERM, 0 if the crawl had its end all the same.
    """
    from p2pcrawl.cli.crawl import CrawlOptions, run_crawl

    asked = CrawlOptions(
        targets,
        appended,
        replaced,
        slaves,
        data,
        again,
        settings if rounds is None else {**settings, "REVISIT_ROUNDS": str(rounds)},
        options.with_extract(extract, arguments, targets if scrapy is None else [str(scrapy)]),
        as_json,
        loglevel,
        logfile,
        debug,
        warc,
        warc_size,
        scrapy,
        together,
    )
    if not targets and scrapy is None:
        raise click.UsageError("Missing argument 'TARGET...': a URL or a spider", click.get_current_context())
    return run_crawl(asked)


@p2pcrawl.command()
@click.argument("url", metavar="URL | JOB", required=False)
@click.option("--last", is_flag=True, help="The job that was submitted last, in place of JOB.")
@click.option(
    "--summary", is_flag=True, help="Tell why pages are missing, of a JOB or of all: reasons, counts, examples."
)
@click.option(
    "--reason", default="", metavar="REASON",
    help="Of this reason alone: no-such-name, http-404, or a word for several as unknown-host.",
)  # fmt: skip
@click.option("--urls", is_flag=True, help="List all pages that failed or were dropped for the reason.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Write them to FILE (.jsonl, .csv, .json ...).")
@click.option(
    "-n", "--examples", type=click.IntRange(min=1, max=100), default=3, show_default=True, metavar="N",
    help="Examples of each reason.",
)  # fmt: skip
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR", help="The folder of a crawl; else a peer is asked."
)
@options.peer
@options.token
@options.as_json
@options.debug
def why(
    url: str | None,
    last: bool,
    summary: bool,
    reason: str,
    urls: bool,
    output: str,
    examples: int,
    data: Path | None,
    peer_api: str | None,
    token_file: Path | None,
    as_json: bool,
    debug: bool,
) -> int:
    """Tell what became of a URL, and why; or why pages are missing. Also while the crawl goes on.

    With --data it looks into that folder. Without, it asks a peer, which lets the owner of the URL answer: any
    peer will do.

    \b
    p2pcrawl why https://example.com/page --data run1
    p2pcrawl why https://example.com/page --peer 10.0.0.5:7180 --json
    p2pcrawl why --summary --data run1            # all reasons, with counts and examples
    p2pcrawl why --summary 1234                   # of one job of a cluster
    p2pcrawl why 1234 --reason unknown-host --urls -o unknown.csv
    p2pcrawl why --reason http-404 --urls --data run1 > gone.jsonl

    The exit code is 1 when the URL was never seen.
    """
    if summary or urls or reason:
        from p2pcrawl.cli.why_not import Wondering, run_why_not

        if last and url:
            raise click.UsageError("give either a JOB or --last", click.get_current_context())
        asked = Wondering("last" if last else url or "", reason, urls, output, examples)
        return run_why_not(asked, data, peer_api, token_file, as_json=as_json)
    if url is None:
        raise click.UsageError(
            "Missing argument 'URL'; with --summary all reasons are told", click.get_current_context()
        )
    from p2pcrawl.cli.why import run_why

    return run_why(url, data, peer_api, token_file, as_json=as_json)


@p2pcrawl.command()
@click.argument("url")
@click.option("-c", "--code", metavar="CODE", help="Run CODE, print its value and leave.")
@click.option("--spider", "target", default="", metavar="TARGET", help="With the settings and middlewares of a spider.")
@options.settings
@options.level
@options.debug
def shell(url: str, code: str | None, target: str, settings: dict[str, str], loglevel: str | None, debug: bool) -> int:
    """Fetch one page as a crawl would, and try things on it.

    There are `response`, `request`, `spider` and `settings`; `fetch(url)` gets another page, `view()` tells about the
    present one, `view(response)` opens it in a browser. The prompt is IPython's or ptpython's where they are installed
    (P2PCRAWL_PYTHON_SHELL says which). What robots.txt says is shown, but does not keep you from looking.

    \b
    p2pcrawl shell https://example.com
    p2pcrawl shell https://example.com --spider quotes.py
    p2pcrawl shell https://example.com -c "response.css('h1::text').get()"
    echo "response.links" | p2pcrawl shell https://example.com
    """
    from p2pcrawl.cli.trying.shell import run_shell

    level = loglevel or ("DEBUG" if debug else "WARNING")
    return run_shell(url, code=code, settings=settings, level=level, target=target)


@p2pcrawl.command()
@options.peer
@options.token
@options.debug
def console(peer_api: str | None, token_file: Path | None, debug: bool) -> int:
    """Look at a running cluster and steer it, from one prompt.

    Its lines are status, jobs, why, owner, certificate, pause, resume, cancel, retry, inject and set, each as the verb
    of that name, at one peer. Tab completes verbs and the names of jobs. Lines may come from a file, too.

    \b
    p2pcrawl console
    p2pcrawl console --peer 10.0.0.5:7180
    echo "pause news" | p2pcrawl console
    """
    from p2pcrawl.cli.console import run_console

    return run_console(peer_api, token_file)


@p2pcrawl.command()
@options.peer
@options.token
@click.option(
    "--every", "every_s", type=click.FloatRange(min=0.2, max=60.0), default=1.0, show_default=True, metavar="SECONDS",
    help="How often the peer is asked.",
)  # fmt: skip
@options.debug
def top(peer_api: str | None, token_file: Path | None, every_s: float, debug: bool) -> int:
    """Show a cluster on the terminal, live: masters, jobs, hosts; look into each, let jobs pause and go on.

    \b
    p2pcrawl top
    p2pcrawl top --peer 10.0.0.5:7180 --every 5
    """
    from p2pcrawl.cli.top.top_verb import run_top

    return run_top(peer_api, token_file, every_s)


@p2pcrawl.command()
@options.peer
@options.token
@click.option(
    "--changes", is_flag=True, help="Offer tools that change something, too: crawl, pause, resume, cancel, retry."
)
@options.debug
def mcp(peer_api: str | None, token_file: Path | None, changes: bool, debug: bool) -> int:
    """Serve tools for language models (Model Context Protocol) about a cluster, on standard input and output.

    They look, and change nothing, unless --changes is given. Their results hold what sites have written, and say so.

    \b
    p2pcrawl mcp                                        # the command that a model's program starts
    p2pcrawl mcp --peer 10.0.0.5:7180 --changes
    """
    from p2pcrawl.cli.mcp.mcp_verb import run_mcp

    return run_mcp(peer_api, token_file, changes=changes)


@p2pcrawl.command()
@click.option("--output", default="demo-output/pages.jsonl", show_default=True, metavar="FILE", help="Where items go.")
@click.option(
    "--pages", type=click.IntRange(min=200, max=200_000), default=3000, show_default=True, help="Pages of the site."
)
@click.option("--hosts", type=click.IntRange(min=1, max=200), default=40, show_default=True, help="Hosts of the site.")
@click.option(
    "--slaves", type=click.IntRange(min=0), metavar="N",
    help="Slave processes of each master, 1 by default; with --one as many as cores. 0: they work in its own process.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(min=1.0), default=25.0, show_default=True,
    help="How long the crawl is to last, about: hosts are given such a delay.",
)  # fmt: skip
@click.option("--one", is_flag=True, help="No cluster: one crawl on this machine, as fast as it goes.")
@click.option("--stay", is_flag=True, help="Keep the cluster until Ctrl-C, to look at it.")
@options.debug
def demo(
    output: str, pages: int, hosts: int, slaves: int | None, seconds: float, one: bool, stay: bool, debug: bool
) -> int:
    """Show a cluster that lives through a death: three masters crawl a synthetic site on loopback, one of them is
    killed with -9, a new one joins, and every page is there exactly once.

    What is right is known from the site, not from the crawl. The exit code is 1 when a check fails.

    \b
    p2pcrawl demo
    p2pcrawl demo --stay                                # and look at its dashboard for as long as you like
    p2pcrawl demo --one --pages 20000 --hosts 100 --output pages.csv.gz
    """
    level = "DEBUG" if debug else "INFO"
    if one:
        from p2pcrawl.demo.one_crawl import run_one

        return run_one(output, pages=pages, hosts=hosts, slaves=slaves, level=level)
    from p2pcrawl.demo.cluster_crawl import ClusterDemo, run_cluster

    return run_cluster(output, ClusterDemo(pages, hosts, 1 if slaves is None else slaves, seconds, level, stay))


for verb in (reextract, *trying_verbs.ALL, *board_verbs.ALL, *cluster_verbs.ALL, *schedule_verbs.ALL):
    p2pcrawl.add_command(verb)
