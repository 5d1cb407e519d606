"""The certificate of a job's end: what each master counted, signed by it, and what that comes to.

A *part* is one master's statement, as text, with its signature: whoever trusts that a node id is a master of the
cluster can check the rest without asking anybody. What the parts come to is not signed, for anyone can add it up
again.

Each part names the members by a digest of their ids, so that a certificate grows with their number, and not with its
square.

The certificate is *final* when nobody who may know of more work is missing, and *incomplete* when a bucket's records
did not all survive.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from p2pcrawl.master.jobs.job import certificate_sum, gone_of
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.sealed.identity import Identity, node_id_of, verify

Part = dict[str, str]
"""``body`` (JSON), ``key`` and ``signature`` (hexadecimal)."""

_PURPOSE = "certificate 1"
_SUMMARY = ("counts", "conserved", "view", "members", "missing", "since", "copies", "incomplete", "final")


def members_digest(members: Collection[NodeId]) -> str:
    """Digests the members that a part speaks of."""
    return blake2b("\n".join(sorted(members)).encode(), digest_size=16).hexdigest()


def signed_part(identity: Identity, body: dict[str, Any]) -> Part:
    """Signs a master's own statement."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    signature = identity.sign(_PURPOSE, text.encode())
    return {"body": text, "key": identity.public_key.hex(), "signature": signature.hex()}


def signed_body(part: Part) -> dict[str, Any] | None:
    """Reads what a part states; None unless the master that it names has signed it."""
    try:
        key, signature, text = bytes.fromhex(part["key"]), bytes.fromhex(part["signature"]), part["body"]
        if not verify(key, signature, _PURPOSE, text.encode()):
            return None
        body = json.loads(text)
        return body if isinstance(body, dict) and body["master"] == node_id_of(key) else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def certificate_of(parts: Sequence[Part], members: Collection[NodeId]) -> dict[str, Any] | None:
    """Joins the parts of all masters; None unless each is signed and all speak of one job, one view, these members."""
    bodies = [signed_body(part) for part in parts]
    stated = [body for body in bodies if body is not None]
    if not stated or len(stated) < len(bodies):
        return None
    try:
        if len({(body["job"], body["view"], body["members"]) for body in stated}) != 1:
            return None
        if stated[0]["members"] != members_digest(members):
            return None
        ordered = sorted(stated, key=lambda body: str(body["master"]))
        return {"job": ordered[0]["job"], **_come_to(ordered, sorted(members)), "parts": list(parts)}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _come_to(bodies: Sequence[dict[str, Any]], members: list[NodeId]) -> dict[str, Any]:
    counts = certificate_sum([body["counts"] for body in bodies], gone_of(bodies))
    missing = sorted({node for body in bodies for node in body["missing"]})
    incomplete = sorted({bucket for body in bodies for bucket in body["incomplete"]})
    asked = max(body["copies"] for body in bodies)
    kept = 1 if any(body["unsynced"] for body in bodies) else min(asked, len(members))
    return {
        "counts": counts,
        "conserved": counts["conserved"],
        "view": bodies[0]["view"],
        "members": members,
        "missing": missing,
        "since": {node: min(known) for node in missing if (known := _since(node, bodies))},
        "copies": {"asked": asked, "kept": kept},
        "incomplete": incomplete,
        "final": not missing and not incomplete,
    }


def _since(node: str, bodies: Sequence[dict[str, Any]]) -> list[int]:
    """Collects what each of the masters that misses another says of when that began. A body of an older version says
    nothing.
    """
    return [body["since"][node] for body in bodies if node in body.get("since", ())]


def flaws(certificate: dict[str, Any]) -> Iterator[str]:
    """Yields in words what is wrong with a certificate; nothing when it is sound."""
    parts = certificate.get("parts")
    if not isinstance(parts, list) or not parts:
        yield "nobody has signed it"
        return
    bodies = [signed_body(part) for part in parts]
    if None in bodies:
        yield f"{bodies.count(None)} of {len(bodies)} signatures do not hold"
        return
    whole = certificate_of(parts, certificate.get("members", ()))
    if whole is None:
        yield "its parts do not speak of one job in one view of the members that it names"
        return
    silent = set(whole["members"]) - {body["master"] for body in bodies if body is not None}
    if silent:
        yield f"{', '.join(sorted(node[:8] for node in silent))} did not sign it"
    differing = [name for name in ("job", *_SUMMARY) if certificate.get(name, {}) != whole[name]]
    if differing:
        yield f"its parts do not come to what it says of {', '.join(differing)}"
    if not whole["conserved"]:
        yield "something that was discovered is nowhere"
