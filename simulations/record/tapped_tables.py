"""The tables of masters' databases that are listened to: the triggers that tell of changes, and what is read first.

Each row that is told begins with a letter, which says what it is of.
"""

from __future__ import annotations

from typing import Final

_RECORD: Final = (
    "'r', NEW.id, NEW.hi, NEW.lo, NEW.job, NEW.bucket, NEW.visit, NEW.phase, NEW.attempts, NEW.losses, NEW.seed"
)
_HELD: Final = "'h', NEW.bucket, NEW.hi, NEW.lo, NEW.job, NEW.stamp"
_MARKED: Final = "'m', 0, NEW.hi, NEW.lo, NEW.job, NEW.marks"
_ITEM_MARKED: Final = "'m', NEW.record, 0, 0, 0, coalesce(NEW.marks, 0)"
_ACCOUNT: Final = "'v', NEW.job, NEW.master, NEW.life, NEW.slice, NEW.version"
_JOB: Final = "'j', NEW.id, NEW.state, NEW.reason, NEW.spec"
_PAUSE: Final = "'p', NEW.key, NEW.until"
_NOTE: Final = "'o', NEW.key, NEW.pause"
_STANDING: Final = "'t', NEW.bucket, NEW.epoch, NEW.lack, NEW.base, NEW.pieces"
TRIGGERS: Final = {
    "record": (
        ("INSERT", _RECORD),
        ("UPDATE OF visit, phase, attempts, losses, seed", _RECORD),
        ("DELETE", "'x', OLD.id, OLD.hi, OLD.lo, OLD.job"),
    ),
    "pause": (("INSERT", _PAUSE), ("UPDATE", _PAUSE)),
    "note": (("INSERT", _NOTE),),
    "lease": (("INSERT", "'l', NEW.record, NEW.lease"), ("DELETE", "'e', OLD.record, OLD.lease")),
    "job": (
        ("INSERT", _JOB),
        ("UPDATE OF state, reason, spec", _JOB),
        ("DELETE", "'k', OLD.id"),
    ),
    "held": (
        ("INSERT", _HELD),
        ("UPDATE OF stamp", _HELD),
        ("INSERT", _MARKED),
        ("UPDATE OF marks", _MARKED),
        ("DELETE", "'d', OLD.hi, OLD.lo, OLD.job"),
    ),
    **dict.fromkeys(("queue", "queue_young"), (("INSERT", "'q', NEW.id"), ("DELETE", "'w', OLD.id"))),
    **dict.fromkeys(
        ("seen", "seen_young"),
        (("INSERT", "'f', NEW.id, NEW.hi, NEW.lo, NEW.job"), ("DELETE", "'g', OLD.id, OLD.hi, OLD.lo, OLD.job")),
    ),
    "staged": (("INSERT", "'a', NEW.record"), ("DELETE", "'b', OLD.record")),
    "item": (("INSERT", "'i', NEW.record"), ("INSERT", _ITEM_MARKED), ("UPDATE OF marks", _ITEM_MARKED)),
    "account": (
        ("INSERT", _ACCOUNT),
        ("UPDATE OF version", _ACCOUNT),
        ("DELETE", "'c', OLD.job, OLD.master, OLD.life, OLD.slice"),
    ),
    "meta": (("UPDATE OF value", "'y', NEW.name, NEW.value"),),
    "spool": (("INSERT", "'s', NEW.id, NEW.hi, NEW.lo, NEW.job"), ("DELETE", "'u', OLD.id")),
    "standing": (
        ("INSERT", _STANDING),
        ("UPDATE", _STANDING),
        ("DELETE", "'n', OLD.bucket"),
    ),
}
READ: Final = {
    "record": "SELECT 'r', id, hi, lo, job, bucket, visit, phase, attempts, losses, seed FROM record",
    "pause": "SELECT 'p', key, until FROM pause",
    "note": "SELECT 'o', key, 0.0 FROM note",
    "item": "SELECT 'i', 0 WHERE 0",
    "account": "SELECT 'v', job, master, life, slice, version FROM account",
    "lease": "SELECT 'l', record, lease FROM lease",
    "job": "SELECT 'j', id, state, reason, spec FROM job",
    "held": "SELECT 'h', bucket, hi, lo, job, stamp FROM held",
    **{table: f"SELECT 'q', id FROM {table}" for table in ("queue", "queue_young")},
    **{table: f"SELECT 'f', id, hi, lo, job FROM {table}" for table in ("seen", "seen_young")},
    "staged": "SELECT 'a', record FROM staged",
    "meta": "SELECT 'y', name, value FROM meta",
    "spool": "SELECT 's', id, hi, lo, job FROM spool",
    "standing": "SELECT 't', bucket, epoch, lack, base, pieces FROM standing",
}
OF_FACTS: Final = frozenset({"record", "held", "standing"})
"""A database with one of these tables is one of facts."""
OF_RECORDS: Final = "rxqwfgab"
"""The rows that are of one record, whose number comes first,"""
BY_KEYS: Final = "rxfg"
"""and those in which its key follows."""
