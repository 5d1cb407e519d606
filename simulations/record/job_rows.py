"""Rows of jobs as disks have them, read without the code that wrote them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec

from ..model.endings import JobRow


def read_job(state: str, reason: str, spec: bytes) -> JobRow:
    """Reads a row of a job: its version, and the certificate of its end, are packed with its specification."""
    packed: dict[str, Any] = msgspec.msgpack.decode(spec)
    certificate = packed.get("certificate") or b""
    end = json.loads(certificate) if certificate else {}
    flaw = flaw_of(end, early=bool(reason)) if end else ""
    signers = tuple(end.get("members", ()))
    return JobRow(
        state,
        reason,
        packed.get("control", 0),
        bool(end.get("final")),
        signers,
        flaw,
        certificate,
        tuple(end.get("missing", ())),
    )


def flaw_of(end: dict[str, Any], *, early: bool) -> str:
    """Says what is wrong with a certificate, going by the parts that masters have signed. ``early``: the job was
    closed with something in its queues.
    """
    bodies: list[dict[str, Any]] = [json.loads(part["body"]) for part in end["parts"]]
    signers, members = {body["master"] for body in bodies}, set(end["members"])
    counts: Counter[str] = Counter()
    for body in bodies:
        counts.update({name: body["counts"][name] for name in ("queued", "leased")})
    if len({body["view"] for body in bodies}) != 1:
        return "who signed it acted in several views"
    if signers != members:
        return f"{len(members - signers)} of its {len(members)} members have not signed it"
    if counts["leased"] or (counts["queued"] and not early):
        return f"who signed it had {counts['queued']} URLs queued and {counts['leased']} leased"
    for name in ("missing", "incomplete"):
        stated: set[Any] = set().union(*(body[name] for body in bodies))
        if stated != set(end[name]):
            return f"who signed it say that {sorted(stated)} are {name}, and it says {sorted(end[name])}"
    if end["final"] and (end["missing"] or end["incomplete"]):
        return "it is final, though it names what is not there"
    return ""
