"""The settings of the membership protocol, and the checks that they can work together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from p2pcrawl.model.cluster.gossip import HEAD_SIZE_MAX, MEMBER_SIZE_MAX
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.timings import TIMINGS


@dataclass(frozen=True, slots=True)
class MembershipConfig:
    """The defaults are those of well-tried LAN gossip; :meth:`validate` cross-checks them."""

    probe_s: float = 1.0
    """Each member probes one other this often, in a shuffled round."""
    probe_timeout_s: float = TIMINGS.probe_timeout_s
    """How long the direct answer is waited for before others are asked to try; several LAN round trips."""
    indirect: int = 3
    """How many others are asked."""
    gossip_s: float = 0.2
    """How often news is sent on its own, while there is any."""
    gossip_fanout: int = 3
    push_pull_s: float = 30.0
    """How often the whole view is compared with one other's over a stream."""
    repair_s: float = 5.0
    """Least time between two such comparisons for the reason that an ack showed another view."""
    suspicion_min_s: float = TIMINGS.suspicion_min_s
    """A stall of 5 s is forgiven; at 4 s a quarter of such stalls would be declared dead."""
    suspicion_max_factor: float = 6.0
    """How much longer a suspicion lasts while nobody confirms it."""
    confirmations: int = 3
    """How many confirmations bring it to the least time."""
    hearings: int = 4
    """How often a suspect is asked before it is declared dead, ``probe_timeout_s`` apart, later through others too."""
    awareness_max: int = 8
    """How many times slower a member probes that has reason to doubt itself."""
    retransmit_factor: int = 4
    """Each update is sent this often, times the decimal logarithm of the cluster, by each member."""
    join_retry_s: float = 2.0
    """First pause before the addresses of ``join`` are tried again; it doubles up to ``push_pull_s``."""
    join_again_s: float = 1.0
    """A newcomer compares views again after this time, and again while there are others that came meanwhile: of those
    that join in the same second, the one through which they do knows all."""
    dead_retry_s: float = 10.0
    """One dead member, drawn at random, is pinged this often, so that healed partitions find each other."""
    dead_gossip_s: float = 30.0
    """News still goes to the newly dead too, so that they hear of it and refute."""
    dead_forget_s: float = 24 * 3600.0
    """After that a dead or departed member is forgotten, and no longer counted for copies."""
    packet_max: int = 1400
    """Bytes of a sealed datagram: one Ethernet frame, tunnels included."""
    seal_overhead: int = 80
    """What sealing adds at most; the rest of ``packet_max`` is for the message."""

    @property
    def message_max(self) -> int:
        return self.packet_max - self.seal_overhead

    def validate(self) -> None:
        """Raises ConfigurationError naming what cannot work, among these or with the times of other arguments."""
        for name in ("probe_s", "probe_timeout_s", "gossip_s", "push_pull_s", "repair_s", "suspicion_min_s",
                     "join_retry_s", "join_again_s", "dead_retry_s", "dead_forget_s"):  # fmt: skip
            if not getattr(self, name) > 0.0:
                raise ConfigurationError(f"{name} must be above 0")
        for name in ("gossip_fanout", "awareness_max", "retransmit_factor"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1")
        if self.indirect < 0 or self.hearings < 0 or self.confirmations < 0 or self.dead_gossip_s < 0.0:
            raise ConfigurationError("indirect, hearings, confirmations and dead_gossip_s must not be negative")
        if self.probe_timeout_s >= self.probe_s:
            raise ConfigurationError("probe_timeout_s must be below probe_s: the rest is for indirect probes")
        if self.suspicion_min_s < 2 * self.probe_s:
            raise ConfigurationError("suspicion_min_s must be twice probe_s at least: refutations need time to travel")
        if self.hearings * self.probe_timeout_s >= self.suspicion_min_s:
            raise ConfigurationError("the hearings must fit into suspicion_min_s")
        if self.suspicion_max_factor < 1.0:
            raise ConfigurationError("suspicion_max_factor must be at least 1")
        if self.message_max < MEMBER_SIZE_MAX + HEAD_SIZE_MAX:
            raise ConfigurationError(f"packet_max must leave {MEMBER_SIZE_MAX + HEAD_SIZE_MAX} bytes for a message")
        times = replace(TIMINGS, probe_timeout_s=self.probe_timeout_s, suspicion_min_s=self.suspicion_min_s)
        times.validate()
