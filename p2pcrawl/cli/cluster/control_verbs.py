"""The verbs that steer a job, and the one that shows its certificate: their options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from p2pcrawl.cli.screen import options


def _steering_verb(verb: str, text: str) -> click.Command:
    """Makes a verb that steers a job; ``text`` is its help."""

    @click.command(verb, help=text)
    @options.job
    @options.peer
    @options.token
    @options.as_json
    @options.debug
    def command(job: str, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
        from p2pcrawl.cli.cluster.control import run_turn

        return run_turn(verb, job, peer_api, token_file, as_json=as_json)

    return command


pause = _steering_verb(
    "pause",
    """Let a job rest: what is being fetched ends and is kept, nothing new is begun.

    It acts on the whole cluster, and lasts through restarts until `resume`.

    \b
    p2pcrawl pause 1234
    p2pcrawl pause news          # the job that was submitted with --name news, or whose spider is called so
    p2pcrawl pause --last        # the one that was submitted last
    """,
)
resume = _steering_verb(
    "resume",
    """Let a paused job go on.

    \b
    p2pcrawl resume 1234
    """,
)
cancel = _steering_verb(
    "cancel",
    """End a job for good. What it has brought stays; `pause` is what can be undone.

    \b
    p2pcrawl cancel 1234
    """,
)


@click.command("retry")
@options.job_or_none
@click.option("--dead-letters", is_flag=True, help="Send the items again that a destination has refused.")
@click.option(
    "--reason", default="", metavar="REASON",
    help="Only pages that failed or were dropped for this: no-such-name, http-503, unknown-host (see why --summary).",
)  # fmt: skip
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of a crawl of this machine that has ended.",
)
@options.peer
@options.token
@options.as_json
@options.debug
def retry_verb(
    job: str | None,
    dead_letters: bool,
    reason: str,
    data: Path | None,
    peer_api: str | None,
    token_file: Path | None,
    as_json: bool,
    debug: bool,
) -> int:
    """Visit all failed pages of a job once more; one that was finished runs again.

    With --data this is done in the folder of a crawl that is not running: its command, given again, goes on with them.

    With --dead-letters the items that a destination has refused are sent to it again, by all masters of a cluster, or
    from the data folder of a crawl that is not running; the exit code is 0 when all were taken.

    \b
    p2pcrawl retry 1234
    p2pcrawl retry 1234 --json        # {"retried": 17, ...}
    p2pcrawl retry 1234 --reason unknown-host
    p2pcrawl retry --reason http-503 --data run1
    p2pcrawl retry 1234 --dead-letters
    p2pcrawl retry --dead-letters --data run1
    """
    if (job is None) != (data is not None):
        raise click.UsageError("give either a JOB, or --data DIR")
    if reason and dead_letters:
        raise click.UsageError("--reason is for pages, --dead-letters for items: give one of them")
    if data is not None and not dead_letters:
        from p2pcrawl.cli.cluster.sent_again import run_retry_in_folder

        return run_retry_in_folder(data, reason, as_json=as_json)
    if data is not None:
        from p2pcrawl.cli.cluster.sent_again import run_send_again

        return run_send_again(data, as_json=as_json)
    assert job is not None
    if dead_letters:
        from p2pcrawl.cli.cluster.sent_again import run_send_again_in_cluster

        return run_send_again_in_cluster(job, peer_api, token_file, as_json=as_json)
    from p2pcrawl.cli.cluster.control import run_turn

    return run_turn("retry", job, peer_api, token_file, as_json=as_json, reason=reason)


@click.command()
@options.job
@options.peer
@options.token
@options.as_json
@options.debug
def certificate(job: str, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
    """Show how a job ended, as all its masters have signed it, and check that here.

    The exit code is 0 when the certificate is sound and final: everything discovered is accounted for, and
    nobody who may know of more is missing. Else it is 1, also while the job has none.

    \b
    p2pcrawl certificate 1234
    p2pcrawl certificate 1234 --json
    """
    from p2pcrawl.cli.cluster.control import run_certificate

    return run_certificate(job, peer_api, token_file, as_json=as_json)


@click.command()
@click.argument("words", nargs=-1, metavar="JOB [URL|-]...")
@click.option("--last", is_flag=True, help="The job that was submitted last, in place of JOB.")
@click.option(
    "-i",
    "--input",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="URLs, one on each line; - is standard input. May be repeated.",
)
@options.peer
@options.token
@options.as_json
@options.debug
def inject(
    words: tuple[str, ...],
    last: bool,
    files: tuple[Path, ...],
    peer_api: str | None,
    token_file: Path | None,
    as_json: bool,
    debug: bool,
) -> int:
    """Put URLs into a job, as if they were start URLs.

    They are safe in the cluster when the verb returns, and it may be typed again: what is known changes nothing. A
    finished job runs again; one that was cancelled, or closed by a limit, refuses them. In a file empty lines and those
    that begin with # are left out.

    \b
    p2pcrawl inject news https://example.com/a https://example.com/b
    p2pcrawl inject --last -i urls.txt
    grep shop links.txt | p2pcrawl inject 1234 -
    """
    called, urls = ("last", words) if last else (words[0] if words else "", words[1:])
    if not called:
        raise click.UsageError("Missing argument 'JOB'")
    from p2pcrawl.cli.cluster.control import run_inject

    if "-" in urls:
        urls, files = tuple(url for url in urls if url != "-"), (*files, Path("-"))
    return run_inject(called, urls, files, peer_api, token_file, as_json=as_json)


@click.command("delete")
@options.job
@click.option("--force", is_flag=True, help="Delete also items that wait for a destination.")
@options.peer
@options.token
@options.as_json
@options.debug
def delete_verb(
    job: str, force: bool, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool
) -> int:
    """Remove a job that is over from all masters: its records, its items, its certificate, its code.

    What it has brought into files and destinations stays there. Masters that are away delete it when they are back. A
    job that runs is cancelled first.

    \b
    p2pcrawl delete news
    p2pcrawl delete 1234 --force
    """
    from p2pcrawl.cli.cluster.control import run_delete

    return run_delete(job, peer_api, token_file, force=force, as_json=as_json)


@click.command("clear")
@options.job
@click.option(
    "--queue", type=click.Choice(["index", "detail", "all"]), required=True,
    help="index: pages that lead to others; detail: those that they lead to, as a spider or board says.",
)  # fmt: skip
@click.option("--restart", is_flag=True, help="Visit the entries again, and what they lead to where it was cleared.")
@options.peer
@options.token
@options.as_json
@options.debug
def clear_verb(
    job: str, queue: str, restart: bool, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool
) -> int:
    """Drop what is queued of a job, and begin its entries anew if wanted.

    It acts on all masters. What was queued is dropped with the reason `cleared`, which `why` tells of a URL; pages that
    are being fetched end, and what they lead to is queued. A page that was cleared is queued again where it is found
    again. With --restart that begins at once: the start URLs, and what was put into the job, are visited once more; a
    finished job runs again.

    \b
    p2pcrawl clear news --queue index --restart
    p2pcrawl clear 1234 --queue all
    """
    from p2pcrawl.cli.cluster.control import run_clear

    return run_clear(job, queue, peer_api, token_file, restart=restart, as_json=as_json)


@click.command("set")
@click.argument("words", nargs=-1, metavar="JOB NAME=VALUE...")
@click.option("--last", is_flag=True, help="The job that was submitted last, in place of JOB.")
@options.peer
@options.token
@options.as_json
@options.debug
def set_verb(
    words: tuple[str, ...], last: bool, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool
) -> int:
    """Change settings of a job while it runs: how fast it visits hosts, and when it is closed.

    It acts on all masters, those that are away when they are back, and lasts through restarts. Hosts follow with their
    next request. What else a spider is opened with stays as it was submitted; the line that refuses names what can be
    changed.

    \b
    p2pcrawl set news DOWNLOAD_DELAY=2
    p2pcrawl set 1234 CONCURRENT_REQUESTS_PER_DOMAIN=4 AUTOTHROTTLE_ENABLED=true
    p2pcrawl set --last CLOSESPIDER_PAGECOUNT=10000
    """
    called, pairs = ("last", words) if last else (words[0] if words else "", words[1:])
    if not called:
        raise click.UsageError("Missing argument 'JOB'")
    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise click.UsageError(f"{wrong[0]} needs the form NAME=VALUE")
    from p2pcrawl.cli.cluster.control import run_set

    changes = {name.strip(): value for name, _, value in (pair.partition("=") for pair in pairs)}
    return run_set(called, changes, peer_api, token_file, as_json=as_json)


ALL: Final = (pause, resume, cancel, retry_verb, inject, clear_verb, set_verb, delete_verb, certificate)
