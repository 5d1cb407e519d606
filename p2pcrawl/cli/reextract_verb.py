"""The verb ``reextract``: its options and its help."""

from __future__ import annotations

from pathlib import Path

import click

from p2pcrawl.cli.screen import options

_folder = click.Path(path_type=Path)


@click.command()
@click.argument("target")
@click.option(
    "--warc", "folders", multiple=True, required=True, type=_folder, metavar="DIR",
    help="A folder with WARC files, as `crawl --warc DIR` leaves it. May be repeated: pages of several machines.",
)  # fmt: skip
@click.option(
    "--of", "crawls", multiple=True, type=_folder, metavar="DIR",
    help="The data folder of the crawl (or peer) that stored the pages: it knows their callbacks, meta and items. "
    "May be repeated: the peers of a cluster.",
)  # fmt: skip
@click.option("--job", default="", metavar="JOB", help="The job in --of DIR, by number or spider, if it has several.")
@click.option("-o", "--output", "appended", multiple=True, metavar="FILE|URL", help="Append items to FILE, or to URL.")
@click.option(
    "-O", "--overwrite", "replaced", multiple=True, metavar="FILE|URL", help="The same, replacing what is there."
)
@click.option(
    "--against", type=click.Path(path_type=Path), metavar="FILE.jsonl",
    help="Compare with the items in FILE. Default: with those of --of DIR, page by page.",
)  # fmt: skip
@click.option(
    "--key", "keys", multiple=True, metavar="FIELD",
    help="A field by which items of FILE are known, so that changed ones are told as such. May be repeated.",
)  # fmt: skip
@click.option("--diff", type=_folder, metavar="FILE.jsonl", help="Write each difference to FILE, with both items.")
@click.option("--data", type=_folder, metavar="DIR", help="Keep this run in DIR, so that it can be resumed.")
@options.slaves
@options.settings
@options.arguments
@options.as_json
@options.debug
def reextract(
    target: str,
    folders: tuple[Path, ...],
    crawls: tuple[Path, ...],
    job: str,
    appended: tuple[str, ...],
    replaced: tuple[str, ...],
    against: Path | None,
    keys: tuple[str, ...],
    diff: Path | None,
    data: Path | None,
    slaves: int | None,
    settings: dict[str, str],
    arguments: dict[str, str],
    as_json: bool,
    debug: bool,
) -> int:
    """Run a changed spider over the pages that a crawl has stored, and tell which items differ.

    Nobody is asked for anything: what is not stored is not there. Links are not followed, but counted. All cores work;
    with --data the same command goes on after a crash. docs/reextraction.md tells how, and about clusters.

    \b
    p2pcrawl crawl quotes.py -o old.jsonl --warc raw --data run1
    p2pcrawl reextract quotes.py --warc raw --of run1 -O new.jsonl --diff changes.jsonl
    p2pcrawl reextract quotes.py --warc raw -O new.jsonl --against old.jsonl --key url
    p2pcrawl reextract quotes.py --warc raw1 --warc raw2 --of node1 --of node2 -O new.jsonl --data again1
    """
    from p2pcrawl.cli.reextract import ReextractOptions, run_reextract

    asked = ReextractOptions(
        target,
        folders,
        crawls,
        job,
        appended,
        replaced,
        against,
        keys,
        diff,
        data,
        slaves,
        settings,
        arguments,
        as_json,
    )
    return run_reextract(asked)
