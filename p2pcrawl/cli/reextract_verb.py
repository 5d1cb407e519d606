"""The verb ``reextract``: its options and its help."""

from __future__ import annotations

from pathlib import Path

import click

from p2pcrawl.cli.screen import options

_folder = click.Path(path_type=Path)


@click.command()
@click.argument("target")
@click.option(
    "--warc", "folders", multiple=True, type=_folder, metavar="DIR",
    help="A folder with WARC files, as `crawl --warc DIR` leaves it. May be repeated: pages of several machines. "
    "Without it a running cluster reads what its machines have stored of --job.",
)  # fmt: skip
@click.option(
    "--of", "crawls", multiple=True, type=_folder, metavar="DIR",
    help="The data folder of the crawl (or peer) that stored the pages: it knows their callbacks, meta and items. "
    "May be repeated: the peers of a cluster.",
)  # fmt: skip
@click.option(
    "--job", default="", metavar="JOB",
    help="The job in --of DIR, by number or spider, if it has several; or that of the cluster, by number or name.",
)  # fmt: skip
@options.peer
@options.token
@click.option("--name", "label", default="", metavar="NAME", help="In a cluster: what to call the job that reads.")
@click.option(
    "--resume", "resumed", default="", metavar="JOB",
    help="In a cluster: begin no job, but stay until this one has ended, which was begun before, and compare.",
)  # fmt: skip
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
    peer_api: str | None,
    token_file: Path | None,
    label: str,
    resumed: str,
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
    with --data the same command goes on after a crash. Without --warc it is a job of a running cluster: each machine
    reads what it has stored of --job, where its peers keep raw pages (`peer --warc DIR`). docs/reextraction.md tells
    how.

    \b
    p2pcrawl crawl quotes.py -o old.jsonl --warc raw --data run1
    p2pcrawl reextract quotes.py --warc raw --of run1 -O new.jsonl --diff changes.jsonl
    p2pcrawl reextract quotes.py --warc raw -O new.jsonl --against old.jsonl --key url
    p2pcrawl reextract quotes.py --warc raw1 --warc raw2 --of node1 --of node2 -O new.jsonl --data again1
    p2pcrawl reextract quotes.py --job quotes --peer 10.0.0.5:7180 -O new.jsonl --diff changes.jsonl
    """
    if not folders:
        from p2pcrawl.cli.reextract_in_cluster import ClusterReextraction, run_reextract_in_cluster
        from p2pcrawl.crawler.item_differences import DifferenceSought
        from p2pcrawl.stores.kinds import read_sink

        _check_cluster(job, crawls, data, slaves, keys, against)
        outputs = [*map(read_sink, appended), *(read_sink(typed, replace=True) for typed in replaced)]
        sought = DifferenceSought(file=against, keys=keys, output=diff)
        there = ClusterReextraction(
            target, job, resumed, label, peer_api, token_file, outputs, sought, settings, arguments, as_json
        )
        return run_reextract_in_cluster(there)
    for option, value in {"--name": label, "--resume": resumed, "--token-file": token_file}.items():
        if value:
            raise click.UsageError(f"{option} is for clusters, and --warc for the files of this machine: give one")
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


def _check_cluster(
    job: str,
    crawls: tuple[Path, ...],
    data: Path | None,
    slaves: int | None,
    keys: tuple[str, ...],
    against: Path | None,
) -> None:
    """Refuses what makes no sense where a cluster is meant."""
    given = {"--of": bool(crawls), "--data": data is not None, "--slaves": slaves is not None}
    for option in (name for name, is_given in given.items() if is_given):
        raise click.UsageError(f"{option} wants the files of this machine: give --warc DIR; without it a cluster reads")
    if not job:
        raise click.UsageError("give --warc DIR with the pages, or --job JOB of a cluster whose machines have them")
    if keys and against is None:
        raise click.UsageError("--key says by which fields the items of --against FILE are known: give --against, too")
