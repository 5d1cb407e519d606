"""The kinds of events that people want to hear of: a closed list, which ``docs/events.md`` tells in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

Detail = str | int | float | bool | list[str] | None
"""One field of an event."""


class Notable(StrEnum):
    """The kinds of events."""

    MEMBER_JOINED = "member-joined"
    MEMBER_SUSPECT = "member-suspect"
    MEMBER_DEAD = "member-dead"
    MEMBER_LEFT = "member-left"
    MEMBER_BACK = "member-back"
    VIEW_CHANGED = "view-changed"
    TAKEOVER = "takeover"
    HANDOVER = "handover"
    BUCKET_NOT_WHOLE = "bucket-not-whole"
    BUCKET_WHOLE = "bucket-whole"
    JOB_SUBMITTED = "job-submitted"
    JOB_STATE = "job-state"
    JOB_CERTIFIED = "job-certified"
    SLAVE_ATTACHED = "slave-attached"
    SLAVE_LOST = "slave-lost"
    SINK_AWAY = "sink-away"
    SINK_BACK = "sink-back"
    HOST_DOWN = "host-down"
    HOST_BACK = "host-back"
    HOST_CHANGED = "host-changed"
    PAGE_GONE = "page-gone"
    DISK_FULL = "disk-full"
    MAJORITY_LOST = "majority-lost"
    MAJORITY_BACK = "majority-back"
    GAP = "gap"


FIELDS: Final[Mapping[Notable, tuple[str, ...]]] = {
    Notable.MEMBER_JOINED: ("peer", "address", "api"),
    Notable.MEMBER_SUSPECT: ("peer", "address"),
    Notable.MEMBER_DEAD: ("peer", "address"),
    Notable.MEMBER_LEFT: ("peer", "address"),
    Notable.MEMBER_BACK: ("peer", "address", "was"),
    Notable.VIEW_CHANGED: ("view", "members"),
    Notable.TAKEOVER: ("buckets", "peers"),
    Notable.HANDOVER: ("buckets", "peer"),
    Notable.BUCKET_NOT_WHOLE: ("buckets",),
    Notable.BUCKET_WHOLE: (),
    Notable.JOB_SUBMITTED: ("job", "name", "label"),
    Notable.JOB_STATE: ("job", "was", "state", "reason"),
    Notable.JOB_CERTIFIED: ("job", "state", "final"),
    Notable.SLAVE_ATTACHED: ("slave", "pid", "at"),
    Notable.SLAVE_LOST: ("slave", "pid", "pages"),
    Notable.SINK_AWAY: ("job", "sink", "why"),
    Notable.SINK_BACK: ("job", "sink", "seconds"),
    Notable.HOST_DOWN: ("job", "host", "unnoted"),
    Notable.HOST_BACK: ("host", "unnoted"),
    Notable.HOST_CHANGED: ("host", "delay_s", "paused"),
    Notable.PAGE_GONE: ("job", "url", "status"),
    Notable.DISK_FULL: ("why",),
    Notable.MAJORITY_LOST: ("why",),
    Notable.MAJORITY_BACK: (),
    Notable.GAP: ("lost",),
}
"""The fields of each kind, beside those that every event has."""


@dataclass(frozen=True, slots=True)
class NotedEvent:
    """An event as the master has it that noted it. ``seq`` counts its events from 1; ``at``: in seconds since 1970."""

    seq: int
    at: float
    kind: Notable
    fields: Mapping[str, Detail]
