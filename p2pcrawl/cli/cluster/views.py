"""The verbs ``status``, ``jobs``, ``owner`` and ``drain``: what a peer's API says, for people or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from p2pcrawl.cli.cluster.control import buckets_told
from p2pcrawl.cli.cluster.sinks_told import unsettled_sinks
from p2pcrawl.cli.screen.revisits import revisit_lines
from p2pcrawl.cli.screen.terminal import show_answer
from p2pcrawl.cli.screen.types_told import type_lines
from p2pcrawl.cli.screen.words import counted, in_columns
from p2pcrawl.client.remote import Remote
from p2pcrawl.core.control import FINISHED
from p2pcrawl.master.neighbours.absences import absent_told

_FIGURES = (
    ("moving", "bucket", "buckets", "being taken over"),
    ("unsynced", "copy of a bucket", "copies of buckets", "not synced yet"),
    ("uncopied", "row", "rows", "on the way to their copies"),
    ("spooled", "link", "links", "provisional"),
)
"""What ``status`` shows of how copies stand, when it is not nothing."""


def run_status(peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Prints the cluster as one peer sees it."""
    show_answer(Remote.find(peer, token_file).get("/v1/status"), status_words, as_json=as_json)
    return 0


def run_jobs(peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Prints all jobs, each over all masters."""
    show_answer(Remote.find(peer, token_file).get("/v1/jobs"), jobs_words, as_json=as_json)
    return 0


def run_owner(url: str, key: str, peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Prints who has a URL."""
    show_answer(Remote.find(peer, token_file).get("/v1/urls/owner", url=url, key=key), owner_words, as_json=as_json)
    return 0


def run_drain(peer: str | None, token_file: Path | None) -> int:
    """Tells a peer to leave."""
    remote = Remote.find(peer, token_file, itself=True)
    remote.post("/v1/drain", {})
    print(f"p2pcrawl: the peer at {remote.address} leaves the cluster", file=sys.stderr)
    return 0


def run_forget(master: str, peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Lets nobody miss a master, and tells what may be lost with it."""
    answer = Remote.find(peer, token_file).post(f"/v1/members/{quote(master, safe='')}/forget", {})
    show_answer(answer, forget_words, as_json=as_json)
    return 0


def forget_words(answer: dict[str, Any]) -> Iterator[str]:
    yield f"{answer['peer'][:8]} at {answer['address']} is forgotten: nobody misses it any more"
    if answer["not_whole"]:
        yield f"warning: {buckets_told(answer['not_whole'])}: what only it had of them is gone"
    else:
        yield "all buckets are whole without it; what nobody else had been told is found again where pages lead to it"


def status_words(s: dict[str, Any]) -> Iterator[str]:
    living = [m for m in s["members"] if m["state"] in ("alive", "suspect")]
    views_told = f"view {s['view']}, directory {_short(s['directory'])}"
    yield f"cluster {s['cluster']}: {counted(len(living), 'master')}, {views_told}"
    who = "a master" if s["peer"]["role"] == "master" else "a slave of the master"
    yield f"asked {who} at {s['peer']['address']}, API {s['peer']['api']}"
    if majority := s.get("majority"):
        voters, needed = counted(len(majority["voters"]), "voter"), majority["needed"]
        grants = "grants" if majority["granting"] else "grants nothing"
        agree = f"{majority['agreeing']} agree, {needed} needed"
        yield f"majority: {voters} (version {majority['version']}), {agree}: it {grants}"
    yield ""
    rows = [("MEMBER", "ADDRESS", "STATE", "WEIGHT", "SHARE", "SLAVES", "LEASED", "PAGES", "VIEW", "API")]
    for m in s["members"]:
        load = m["load"]
        state = m["state"] + (", leaving" if m["drained"] else "")
        figures = [str(m["weight"]), f"{m['share']:.1%}", str(m["slaves"])]
        done = [f"{load.get('leased', 0):,}", f"{load.get('pages', 0):,}"]
        rows.append((m["id"][:8], m["address"], state, *figures, *done, m["view"] or "?", m["api"] or "-"))
    yield from in_columns(rows, right={3, 4, 5, 6, 7})
    views = {m["view"] for m in living if m["view"]}
    if len(views) > 1:
        yield f"the members do not agree, as of what each told last: {len(views)} views"
    if s["jobs"]:
        yield "jobs: " + ", ".join(f"{count:,} {state}" for state, count in sorted(s["jobs"].items()))
    copies = s["copies"]
    told = [f"{counted(copies[name], noun, nouns)} {what}" for name, noun, nouns, what in _FIGURES if copies[name]]
    if told:
        yield f"copies: {copies['asked']} of each record; {', '.join(told)}"
    if undelivered := s.get("undelivered"):
        yield f"sinks: {counted(undelivered, 'item')} waiting; `p2pcrawl jobs` says for which"
    for warning in s["warnings"]:
        yield f"warning: {warning}"


def jobs_words(answer: dict[str, Any]) -> Iterator[str]:
    if not answer["jobs"]:
        yield "no jobs; `p2pcrawl submit TARGET` makes one"
        return
    rows = [("JOB", "NAME", "STATE", "PAGES", "QUEUED", "LEASED", "ITEMS", "FAILED", "DROPPED")]
    for j in answer["jobs"]:
        figures = [f"{j[name]:,}" for name in ("pages", "queued", "leased", "items", "failed", "dropped")]
        rows.append((str(j["job"]), j["label"] or j["name"], _job_state(j), *figures))
    yield from in_columns(rows, right={0, 3, 4, 5, 6, 7, 8})
    for job in answer["jobs"]:
        yield from (f"{job['label'] or job['name']}: {line}" for line in (*type_lines(job), *revisit_lines(job)))
    yield from unsettled_sinks(answer["jobs"])
    if broken := sorted({bucket for j in answer["jobs"] for bucket in j["not_whole"]}):
        yield f"warning: {buckets_told(broken)}: what was lost with them is in no figure here"
    if not all(j["settled"] for j in answer["jobs"]):
        yield "warning: buckets are changing hands: pages may be counted twice, or not at all, until they have"
    if away := answer["jobs"][0]["away"]:
        yield f"warning: {absent_told(away)}: what only they know is in no figure here"
    if missing := {m for j in answer["jobs"] for m in j["missing"]}:
        yield f"without what {', '.join(sorted(m[:8] for m in missing))} has: it did not answer"


def _job_state(j: dict[str, Any]) -> str:
    """Says how a job stands: one that is finished while somebody is away who may know more is said to be so."""
    certificate = j.get("certificate")
    open_end = ", not final" if j["state"] == FINISHED and certificate and not certificate["final"] else ""
    return str(j["state"]) + open_end + (f" ({j['reason']})" if j["reason"] else "")


def owner_words(o: dict[str, Any]) -> Iterator[str]:
    yield o["url"]
    yield f"  owner   {o['owner'][:8]} at {o['address'] or '?'}"
    yield f"  copies  {', '.join(c[:8] for c in o['copies'])}"
    if o.get("epoch"):
        serving = "" if o["serving"] else ", still taking the bucket over"
        yield f"  epoch   {o['epoch'][0]}{serving}"
        slave = f"session {o['slave']} of the owner" if o["slave"] is not None else "none is attached"
        yield f"  slave   {slave}"
    yield f"  why     {o['why']}"
    if o.get("note"):
        yield f"  note    {o['note']}"
    if heard := o.get("directory"):
        epoch, age = heard["epoch"][0], heard["age_s"]
        yield f"  heard   {heard['owner'][:8]} at {heard['address']}, epoch {epoch}, {age:.0f} s ago (directory)"


def _short(digest: Any) -> str:
    return digest if isinstance(digest, str) else f"{digest:016x}" if isinstance(digest, int) else str(digest)
