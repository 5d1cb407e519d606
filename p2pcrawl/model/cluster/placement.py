"""The ways to share out buckets over masters and hosts over slaves that can be chosen, by name."""

from __future__ import annotations

from enum import StrEnum


class RingName(StrEnum):
    """The ways to share out buckets over the masters; one for a whole cluster."""

    RENDEZVOUS = "rendezvous"
    """By weight; nothing moves between those that stay."""
    MODULO = "modulo"
    TWO_LEVEL = "two-level"

    @property
    def weighted(self) -> bool:
        """True if a member's share follows its weight."""
        return self is RingName.RENDEZVOUS


class GroupPlacement(StrEnum):
    """The ways to share out hosts over the slaves of one master."""

    BOUNDED = "bounded"
    """Weighted consistent hashing with bounded load; weights follow measured throughput."""
    HOST_BUCKET = "host-bucket"
    """``MD5(host) % slaves``; a host whose slave overflows goes to the least loaded one."""
