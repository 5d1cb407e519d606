"""The verbs of the cluster and their options. What a verb does is imported when it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from p2pcrawl.cli.cluster import control_verbs, figure_verbs
from p2pcrawl.cli.screen import options
from p2pcrawl.model.cluster.placement import GroupPlacement, RingName

_peer = options.peer
_token = options.token


@click.command()
@click.option("--bind", default="", metavar="HOST:PORT", help="Where to listen, UDP and TCP; port 0 takes a free one.")
@click.option("--advertise", default="", metavar="HOST:PORT", help="Where others reach this peer, if it is not --bind.")
@click.option(
    "--join", multiple=True, metavar="HOST:PORT", help="A peer of the cluster; any one will do. May be repeated."
)
@click.option("--api", default="", metavar="HOST:PORT", help="Where the HTTP API listens; loopback by default.")
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR",
    help="Keep what this peer holds in DIR. Without it that is gone when the peer stops.",
)  # fmt: skip
@options.slaves
@click.option(
    "--role", type=click.Choice(["auto", "master", "slave"]), default="auto", show_default=True,
    help="auto: a master while there are too few, else a slave of the one that has the fewest.",
)  # fmt: skip
@click.option("--cluster", metavar="NAME", help="The cluster's name; p2pcrawl by default.")
@click.option(
    "--key-file", type=click.Path(path_type=Path), metavar="FILE",
    help="The cluster's keys; see keygen. Default: P2PCRAWL_KEY, or cluster.key in the user's config folder.",
)  # fmt: skip
@click.option(
    "--tls-cert", type=click.Path(path_type=Path), metavar="FILE",
    help="Put all links into TLS, with this PEM certificate for both ends of a link. All peers or none.",
)  # fmt: skip
@click.option("--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="Its key, without a password.")
@click.option(
    "--tls-ca", type=click.Path(path_type=Path), metavar="FILE",
    help="The CA that the certificates of the other peers must come from.",
)  # fmt: skip
@click.option(
    "--masters", type=click.IntRange(min=1), default=3, show_default=True, metavar="N",
    help="auto peers become masters while fewer than N live.",
)  # fmt: skip
@click.option(
    "--copies", type=click.IntRange(min=1), default=2, show_default=True, metavar="N",
    help="Masters that hold each record: all but one of them may die at once.",
)  # fmt: skip
@click.option(
    "--partition", type=click.Choice(["available", "majority"]), default="available", show_default=True,
    help="When masters cannot reach each other: all go on, or only those that are more than half.",
)  # fmt: skip
@click.option(
    "--weight", type=click.IntRange(min=1, max=16), default=1, show_default=True, metavar="N",
    help="Capacity, 1 to 16: a master's share of the hosts follows it.",
)  # fmt: skip
@click.option(
    "--ring", type=click.Choice([ring.value for ring in RingName]), default="rendezvous", show_default=True,
    help="How masters share out the hosts; the same for all peers. The other two are for comparison.",
)  # fmt: skip
@click.option(
    "--placement", type=click.Choice([placement.value for placement in GroupPlacement]), default="bounded",
    show_default=True, help="Which of its slaves a master gives a host to; see docs/rings.md.",
)  # fmt: skip
@click.option(
    "--bot-key", "bot_keys", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="A key that requests are signed with: the API serves its directory. Several while keys are changed.",
)  # fmt: skip
@click.option("--bot-agent", default="", metavar="URL", help="Where that directory is reached from outside.")
@options.warc
@options.warc_size
@options.as_json
@options.level
@options.logfile
@options.log_format
@options.debug
def peer(
    bind: str,
    advertise: str,
    join: tuple[str, ...],
    api: str,
    data: Path | None,
    slaves: int | None,
    role: str,
    cluster: str | None,
    key_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    masters: int,
    copies: int,
    partition: str,
    weight: int,
    ring: str,
    placement: str,
    bot_keys: tuple[Path, ...],
    bot_agent: str,
    warc: Path | None,
    warc_size: str,
    as_json: bool,
    loglevel: str | None,
    logfile: str | None,
    debug: bool,
) -> int:
    """Be one of the peers of a cluster, until stopped.

    When the peer is ready it says so in one line on standard output; all else goes to standard error.

    \b
    p2pcrawl peer --data node1                                  # the first one
    p2pcrawl peer --data node2 --bind :7118 --join :7117        # another one on the same machine
    p2pcrawl keygen -o cluster.key                              # across machines a key is needed; then:
    p2pcrawl peer --data node --bind 10.0.0.5:7117 --key-file cluster.key
    p2pcrawl peer --data node --join 10.0.0.5:7117 --key-file cluster.key
    p2pcrawl peer --role slave --join 10.0.0.5:7117 --key-file cluster.key
    p2pcrawl peer --data node1 --warc raw                       # raw pages of what its slaves fetch; docs/warc.md

    With --tls-cert, --tls-key and --tls-ca, on all peers or on none, the links between peers are TLS besides.

    SIGTERM or Ctrl-C once leaves in order, twice at once. SIGHUP reads the key file again. The exit code is 0
    after SIGTERM and drain, 130 after Ctrl-C.
    """
    from p2pcrawl.cli.cluster.peer_verb import PeerOptions, run_peer
    from p2pcrawl.client.peer_access import with_host
    from p2pcrawl.peer.config import Partition
    from p2pcrawl.stores.warc.place import chosen_place

    fields = {
        "bind": with_host(bind),
        "advertise": advertise,
        "join": tuple(with_host(address) for address in join),
        "api": with_host(api),
        "data": data,
        "slaves": slaves,
        "role": role,
        "key_file": key_file,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "tls_ca": tls_ca,
        "masters": masters,
        "copies": copies,
        "partition": Partition(partition),
        "weight": weight,
        "ring": ring,
        "placement": placement,
        "warc": chosen_place(warc, warc_size, ())[0],
        "bot_keys": bot_keys,
        "bot_agent": bot_agent,
    }
    if cluster is not None:
        fields["cluster"] = cluster
    level = loglevel or ("DEBUG" if debug else "INFO")
    return run_peer(PeerOptions(fields, as_json, level, logfile or ""))


@click.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Make FILE; nobody else can read it."
)
@click.option("--add", "step", flag_value="add", help="Put a new key into FILE, for a change of keys: step 1.")
@click.option("--use", "step", flag_value="use", help="Let the key that was added be used: step 2.")
@click.option("--remove", "step", flag_value="remove", help="Remove the keys that are out of use: step 3.")
@click.option("--force", "step", flag_value="force", help="Replace FILE: peers with the old key are locked out.")
@click.option("--bot", is_flag=True, help="Make a key that requests are signed with, instead of a cluster key.")
@click.option(
    "--directory", type=click.Path(path_type=Path), metavar="FILE",
    help="With --bot: write what is to be published of the key, which may be there already.",
)  # fmt: skip
@options.debug
def keygen(output: Path | None, step: str | None, bot: bool, directory: Path | None, debug: bool) -> int:
    """Make a cluster key: who has it may take part, and run code on all peers.

    \b
    p2pcrawl keygen -o cluster.key             # a key file for --key-file
    p2pcrawl keygen                            # print a key, for P2PCRAWL_KEY

    To change the key of a running cluster take these steps, and after each one copy the file to all peers
    and let them read it (kill -HUP):

    \b
    p2pcrawl keygen -o cluster.key --add       # all understand the new key
    p2pcrawl keygen -o cluster.key --use       # all use it
    p2pcrawl keygen -o cluster.key --remove    # nobody knows the old one

    A bot's key says to web servers whose crawler this is (docs/signed-requests.md):

    \b
    p2pcrawl keygen --bot -o bot.pem --directory http-message-signatures-directory
    """
    if bot or directory is not None:
        from p2pcrawl.cli.cluster.bot_keygen import run_bot_keygen

        return run_bot_keygen(output, directory, bot=bot, step=step)
    from p2pcrawl.cli.cluster.keygen import Step, run_keygen

    return run_keygen(output, Step(step or "make"))


@click.command()
@click.argument("targets", metavar="TARGET | BOARD.toml...", nargs=-1, required=True)
@options.scrapy
@_peer
@_token
@options.extract
@options.settings
@options.arguments
@click.option(
    "--name", "label", default="", metavar="NAME", help="What to call the job: the other verbs take it for its number."
)
@click.option("--wait", is_flag=True, help="Stay until the job is finished, and tell how it ended.")
@click.option(
    "-o", "--output", "added", multiple=True, metavar="URL|FILE",
    help="Where the masters bring the items: a database, an object store. With --wait also a FILE here, or -.",
)  # fmt: skip
@click.option(
    "-O", "--overwrite", "replaced", multiple=True, metavar="URL|FILE",
    help="The same, replacing what earlier jobs left there.",
)  # fmt: skip
@options.as_json
@options.debug
def submit(
    targets: tuple[str, ...],
    scrapy: Path | None,
    peer_api: str | None,
    token_file: Path | None,
    extract: str | None,
    settings: dict[str, str],
    arguments: dict[str, str],
    label: str,
    wait: bool,
    added: tuple[str, ...],
    replaced: tuple[str, ...],
    as_json: bool,
    debug: bool,
) -> int:
    """Hand a crawl to the cluster: a URL, a spider's file (spider.py or spider.py:Class), module:Class, or a board's
    .toml. Several boards are one job, each with entries, patterns, limits and periods of its own.

    It answers with the job's number when the job is safe with the cluster. The code of a file travels with it, with
    the modules, packages and data files of its folder that it uses; a module has to be installed on all peers.
    Outputs that are URLs are opened before the job is accepted; their passwords are read from
    P2PCRAWL_SINK_PASSWORD, or as ?password_env=NAME or ?password_file=PATH says.

    \b
    p2pcrawl submit https://example.com
    p2pcrawl submit quotes.py -a tag=humor -s DOWNLOAD_DELAY=0.5 --peer 10.0.0.5:7180
    p2pcrawl submit quotes.py --name quotes --wait -o quotes.csv
    p2pcrawl submit press.toml sports.toml --name press     # more of them later: p2pcrawl board add
    p2pcrawl submit https://example.com --extract article -o mongodb://db/press.articles
    """
    from p2pcrawl.cli.cluster.submit import run_submit
    from p2pcrawl.stores.kinds import read_sink

    outputs = [*map(read_sink, added), *(read_sink(typed, replace=True) for typed in replaced)]
    return run_submit(
        targets,
        settings,
        options.with_extract(extract, arguments, targets if scrapy is None else [str(scrapy)]),
        peer=peer_api,
        token_file=token_file,
        label=label,
        wait=wait,
        outputs=outputs,
        as_json=as_json,
        scrapy=scrapy,
    )


@click.command()
@_peer
@_token
@options.as_json
@options.debug
def jobs(peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
    """List the cluster's jobs.

    \b
    p2pcrawl jobs
    p2pcrawl jobs --peer 10.0.0.5:7180 --json
    """
    from p2pcrawl.cli.cluster.views import run_jobs

    return run_jobs(peer_api, token_file, as_json=as_json)


@click.command()
@_peer
@_token
@click.option(
    "--watch", "every_s", is_flag=False, flag_value=2.0, type=click.FloatRange(min=0.1, max=3600.0),
    metavar="[SECONDS]", help="Again and again, every 2 seconds unless told otherwise, until Ctrl-C.",
)  # fmt: skip
@options.as_json
@options.debug
def status(peer_api: str | None, token_file: Path | None, every_s: float | None, as_json: bool, debug: bool) -> int:
    """Tell who is in the cluster, in which state, and who does how much.

    \b
    p2pcrawl status
    p2pcrawl status --watch                             # see also top
    p2pcrawl status --watch 60 --json >> cluster.jsonl
    p2pcrawl status --peer 10.0.0.5:7180 --json
    """
    if every_s is not None:
        from p2pcrawl.cli.cluster.watched_status import run_watch

        return run_watch(peer_api, token_file, every_s, as_json=as_json)
    from p2pcrawl.cli.cluster.views import run_status

    return run_status(peer_api, token_file, as_json=as_json)


@click.command()
@click.argument("url")
@_peer
@_token
@click.option(
    "--key", type=click.Choice(["host", "domain", "url"]), default="host", show_default=True,
    help="By what the job spreads its URLs over masters (its setting SHARD_KEY).",
)  # fmt: skip
@options.as_json
@options.debug
def owner(url: str, peer_api: str | None, token_file: Path | None, key: str, as_json: bool, debug: bool) -> int:
    """Tell which master a URL belongs to, and why. Every peer gives the same answer.

    \b
    p2pcrawl owner https://example.com/page
    p2pcrawl owner https://example.com/page --key url --json
    """
    from p2pcrawl.cli.cluster.views import run_owner

    return run_owner(url, key, peer_api, token_file, as_json=as_json)


@click.command()
@options.job
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE|URL",
    help="Where to; what is in FILE is replaced. - is standard output. A URL is a database, an object store ...",
)
@_peer
@_token
@options.debug
def results(job: str, output: str, peer_api: str | None, token_file: Path | None, debug: bool) -> int:
    """Fetch the items that a job has brought so far, from all masters, each once.

    The format is that of the file's name: .jsonl, .json, .csv or .xml, each also with .gz or .zst, or .parquet. When
    something of the job is out of reach, so that items may be missing, a line on standard error says so.

    \b
    p2pcrawl results 1234 -o pages.csv
    p2pcrawl results --last -o pages.csv
    p2pcrawl results 1234 -o - | head
    """
    from p2pcrawl.cli.cluster.results_verb import run_results

    return run_results(job, output, peer_api, token_file)


@click.command()
@_peer
@_token
@options.debug
def drain(peer_api: str | None, token_file: Path | None, debug: bool) -> int:
    """Let a peer leave the cluster in order, and stop.

    \b
    p2pcrawl drain --peer 127.0.0.1:7180
    """
    from p2pcrawl.cli.cluster.views import run_drain

    return run_drain(peer_api, token_file)


@click.command()
@click.argument("master", metavar="MASTER")
@_peer
@_token
@options.as_json
@options.debug
def forget(master: str, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
    """Let nobody miss a dead master any more, for it will not come back.

    MASTER is its id, or the first digits of that, as `status` shows them, or its address. What it alone had is gone,
    and the verb says what that may be. One that lives for any of the others is refused; should it come back all the
    same, what it has is taken in.

    \b
    p2pcrawl forget 1a2b3c4d
    p2pcrawl forget 10.0.0.5:7117
    """
    from p2pcrawl.cli.cluster.views import run_forget

    return run_forget(master, peer_api, token_file, as_json=as_json)


ALL: Final = (peer, keygen, submit, jobs, status, owner, results, *figure_verbs.ALL, *control_verbs.ALL, drain, forget)
