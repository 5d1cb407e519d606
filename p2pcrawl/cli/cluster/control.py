"""The verbs ``pause``, ``resume``, ``cancel``, ``retry`` and ``certificate``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from p2pcrawl.cli.screen.terminal import show, show_json
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.core.retuning import read_changes
from p2pcrawl.master.jobs.certificate import flaws
from p2pcrawl.master.neighbours.absences import moment_told
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.model.reason_choice import pages_named
from p2pcrawl.spiders.page.typed_urls import checked_url

BUCKETS_SHOWN = 10
INJECTED_AT_ONCE = 5_000


def run_turn(
    verb: str, called: str, peer: str | None, token_file: Path | None, *, as_json: bool, reason: str = ""
) -> int:
    """Lets the cluster do it, and tells what it came to."""
    pages_named(reason)
    remote = Remote.find(peer, token_file)
    answer = remote.post(job_path(remote.job(called), verb), {"reason": reason} if reason else {})
    if as_json:
        show_json(answer)
    else:
        show(_steered(answer))
    if answer["missing"]:
        names = ", ".join(node[:8] for node in answer["missing"])
        _say(f"{names} will learn of it when back; what only that master knows of is as it was")
    return 0


def _steered(answer: dict[str, Any]) -> str:
    was = f"was {answer['was']} already" if answer["was"] == answer["state"] else f"was {answer['was']}"
    text = f"job {answer['job']} ({answer['name']}) is {answer['state']}; it {was}"
    if "retried" not in answer:
        return text
    return f"{counted(answer['retried'], 'failed page')} queued anew: job {answer['job']} is {answer['state']}"


def run_delete(called: str, peer: str | None, token_file: Path | None, *, force: bool, as_json: bool) -> int:
    """Deletes a job, and tells who is to learn of it later."""
    remote = Remote.find(peer, token_file)
    answer = remote.change("DELETE", job_path(remote.job(called)) + ("?force=true" if force else ""))
    if as_json:
        show_json(answer)
    else:
        show(f"job {answer['job']} ({answer['name']}) is deleted; it was {answer['was']}")
    if answer["missing"]:
        _say(f"{', '.join(node[:8] for node in answer['missing'])} will delete what it has when back")
    return 0


def run_clear(
    called: str, queue: str, peer: str | None, token_file: Path | None, *, restart: bool, as_json: bool
) -> int:
    """Clears a queue of a job, and tells how many pages that were."""
    remote = Remote.find(peer, token_file)
    answer = remote.post(job_path(remote.job(called), "clear"), {"queue": queue, "restart": restart})
    if as_json:
        show_json(answer)
    else:
        anew = f", {counted(answer['restarted'], 'entry', 'entries')} begun anew" if restart else ""
        cleared = f"{counted(answer['cleared'], 'queued page')} dropped{anew}"
        show(f"{cleared}: job {answer['job']} ({answer['name']}) is {answer['state']}")
    if answer["missing"]:
        _say(f"{', '.join(node[:8] for node in answer['missing'])} may have more when back: then clear it again")
    return 0


def run_set(called: str, changes: dict[str, str], peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Changes settings of a job that runs, and tells what they were."""
    read_changes(changes)
    remote = Remote.find(peer, token_file)
    answer = remote.change("PATCH", job_path(remote.job(called), "settings"), {"settings": changes})
    if as_json:
        show_json(answer)
    else:
        told = ", ".join(f"{name} {value} (was {answer['was'][name]})" for name, value in answer["set"].items())
        show(f"job {answer['job']} ({answer['name']}): {told}")
    if answer["missing"]:
        _say(f"{', '.join(node[:8] for node in answer['missing'])} will learn of it when back")
    return 0


def run_inject(
    called: str, urls: Sequence[str], files: Sequence[Path], peer: str | None, token_file: Path | None, *, as_json: bool
) -> int:
    """Puts URLs into a job, some thousand at once, and tells how many."""
    wanted = [checked_url(url) for url in urls]
    for file in files:
        wanted += urls_of_file(file)
    if not wanted:
        raise ConfigurationError("no URL was given: name some, or a file of them with -i")
    remote = Remote.find(peer, token_file)
    job, count, answer = remote.job(called), 0, dict[str, Any]()
    for start in range(0, len(wanted), INJECTED_AT_ONCE):
        part = wanted[start : start + INJECTED_AT_ONCE]
        try:
            answer = remote.post(job_path(job, "urls"), {"urls": part})
        except P2PCrawlError as error:
            if not count:
                raise
            raise type(error)(f"{counted(count, 'URL')} put into job {job}, not the rest: {error}") from error
        count += len(part)
    if as_json:
        show_json({**answer, "injected": count})
    else:
        again = f"; it was {answer['was']}" if answer["was"] != answer["state"] else ""
        show(f"{counted(count, 'URL')} put into job {job} ({answer['name']}), which is {answer['state']}{again}")
    return 0


def urls_of_file(file: Path) -> list[str]:
    """Reads the URLs of a file, one on each line."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
    # Some editors put a byte-order mark first.
    lines = enumerate(map(str.strip, text.removeprefix("\ufeff").splitlines()), 1)
    return [checked_url(line, f"{file}, line {number}") for number, line in lines if line and not line.startswith("#")]


def run_certificate(called: str, peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Prints a job's certificate. Returns 0 for one that is sound and final."""
    remote = Remote.find(peer, token_file)
    job = remote.job(called)
    status = remote.get(job_path(job))
    certificate = status["certificate"]
    if certificate is None:
        raise P2PCrawlError(f"job {job} is {status['state']}: it has no certificate")
    found = list(flaws(certificate))
    sound = not found and certificate["job"] == job
    if as_json:
        show_json({**certificate, "sound": sound, "flaws": found})
    else:
        for line in certificate_words(certificate, found):
            show(line)
    return 0 if sound and certificate["final"] else 1


def certificate_words(c: dict[str, Any], found: list[str]) -> Iterator[str]:
    """Tells of a certificate in words, with what is wrong with it."""
    counts = c["counts"]
    yield f"job {c['job']} ({counts['name']}), signed by {counted(len(c['parts']), 'master')} in view {c['view']}"
    yield (
        f"  discovered {counts['discovered']:,} = done {counts['done']:,} + failed {counts['failed']:,}"
        f" + dropped {counts['dropped']:,} + queued {counts['queued']:,}"
    )
    yield f"  {counted(counts['pages'], 'page')}, {counted(counts['items'], 'item')}"
    copies = c["copies"]
    fewer = f", {copies['asked']} were asked for" if copies["kept"] < copies["asked"] else ""
    yield f"  {counted(copies['kept'], 'copy', 'copies')} of each record{fewer}"
    if c["missing"]:
        since = c.get("since", {})
        names = (f"{n[:8]} since {moment_told(since[n])}" if n in since else n[:8] for n in c["missing"])
        yield f"  missing: {', '.join(names)}"
    if c["incomplete"]:
        yield f"  INCOMPLETE: {buckets_told(c['incomplete'])}"
    if c["final"]:
        yield "  final: nobody who may know of more is missing"
    elif c["missing"]:
        yield "  not final: who is missing may know of more; it is made anew when they are back, or forgotten"
    else:
        yield "  not final"
    for flaw in found:
        yield f"  NOT SOUND: {flaw}"
    if not found:
        yield "  sound: every signature holds, and the counts add up"


def buckets_told(buckets: list[int]) -> str:
    """Buckets that are not whole, by their numbers."""
    shown = ", ".join(map(str, buckets[:BUCKETS_SHOWN])) + (", ..." if len(buckets) > BUCKETS_SHOWN else "")
    return f"{counted(len(buckets), 'bucket is', 'buckets are')} not whole ({shown})"


def _say(line: str) -> None:
    print(f"p2pcrawl: {on_one_line(line)}", file=sys.stderr, flush=True)
