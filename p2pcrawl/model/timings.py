"""Every duration that takes part in a safety argument, and the inequalities that the arguments need.

The theory. Nobody asks a host twice at a time, and nothing that was acknowledged is lost, because some things are over
before others begin: a slave has stopped before its master gives its pages to somebody else, and that is before anybody
takes over from the master. Whoever changes one of these times elsewhere would not notice; so they stand here, together
with what must hold between them (:meth:`Timings.laws`), and :meth:`Timings.validate` refuses by name what does not.
The page ``docs/guarantees.md`` has the same list in words.

Times that nothing rests on (how often something is looked at, how long an answer is waited for) stand where they are
used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from p2pcrawl.model.errors import ConfigurationError

DAY_S = 24 * 3600.0
LEAPS_TO_FIRST_MAX = 1 << 10
"""So many leaps bring a member's incarnation to where newcomers do not take it in (``core`` says what a leap is)."""
_ROUNDING_S = 1e-9


@dataclass(frozen=True, slots=True)
class Law:
    """One inequality: ``greater`` is longer than ``lesser``, both as they stand in the text of a formula."""

    greater: str
    greater_s: float
    lesser: str
    lesser_s: float
    why: str
    """What would go wrong."""
    page: str
    """Where in ``docs`` the argument is told."""
    or_equal: bool = False

    @property
    def holds(self) -> bool:
        if self.or_equal:
            return self.greater_s >= self.lesser_s - _ROUNDING_S
        return self.greater_s > self.lesser_s + _ROUNDING_S

    @property
    def relation(self) -> str:
        return "at least" if self.or_equal else "longer than"

    @property
    def refusal(self) -> str:
        """Names both sides, with their values, and what would go wrong."""
        return (
            f"{self.greater} ({self.greater_s:.4g}) must be {self.relation} {self.lesser} ({self.lesser_s:.4g}): "
            f"{self.why}; see docs/{self.page}"
        )


@dataclass(frozen=True, slots=True)
class Timings:
    """The times, in seconds; see the laws for what each has to do with the others."""

    drift: float = 0.02
    """How much faster or slower one machine's clock may run than true time, as a share."""

    # -- sessions of slaves -------------------------------------------------------------------
    beat_s: float = 1.0
    """A slave's Beats come this often."""
    watch_s: float = 1.0
    """A master looks this often which sessions are over, and which slaves are silent."""
    silence_min_s: float = 2.0
    """The least patience with a slave that gives no sign of life (``SLAVE_SILENCE``)."""
    fence_s: float = 4.9
    """After this time without renewal, counted by its own clock from the sending of the last Beat that was answered, a
    slave does nothing more."""
    void_s: float = 5.1
    """After this time without renewal, counted by its own clock from its last answer, a master knows that."""

    # -- when a master is dead, or may be taken for dead --------------------------------------
    probe_timeout_s: float = 0.5
    """How long a direct answer to a probe is waited for before others are asked to try; several LAN round trips."""
    suspicion_min_s: float = 6.0
    """A stall of 5 s is forgiven; at 4 s a quarter of such stalls would be declared dead."""
    stood_still_s: float = 4.5
    """A master whose loop stood still for so long may have been taken for dead, and its slaves have stopped."""
    clock_look_s: float = 0.5
    """Between two looks at the clock, by which it finds that out."""
    looking_s: float = 5.0
    """How long one that knows of others looks for them before it begins alone."""
    patience_s: float = 30.0
    """How long one that was here before waits for those that it knew before it serves what they may have."""
    drain_on_s: float = 30.0
    """How long a master that leaves waits, when pages in hand have been given up, for others to have everything."""
    results_patience_s: float = 40.0
    """How long whoever gathers results waits for masters that do not answer."""

    # -- loans of hosts -----------------------------------------------------------------------
    loan_spaced_s: float = 2.0
    """About how long an exclusive loan lasts: its number of requests follows from the delay."""
    loan_term_s: float = 5.0
    """A borrower begins nothing later than this after the host is free for it."""
    loan_dead_s: float = 7.0
    """After a borrower is gone, before its loan counts as ended."""

    # -- consent, with --partition majority ---------------------------------------------------
    ask_s: float = 1.0
    """Every voter is asked this often, and who does not answer once more in between."""
    grant_s: float = 4.0
    """How long an agreement may be used, from the sending of the question; long enough for 30 % loss."""
    halt_s: float = 5.0
    """After this time, counted likewise, requests that are still open are given up."""
    consent_look_s: float = 0.25
    """Between two looks at how it stands: so much earlier they are told to."""
    heed_s: float = 0.25
    """How long it takes slaves to hear that."""
    promise_s: float = 6.2
    """How long who agreed agrees to nothing else, from the receipt of the question."""

    ballot_margin_s: float = 0.25
    """Others may have learnt a version of the electorate so much later."""
    part_s: float = 8.0
    """How long one that leaves waits for the others to do without its vote."""

    # -- what is said and kept ----------------------------------------------------------------
    leap_every_s: float = 10.0
    """An incarnation that is far ahead of what was known is taken in no more often."""
    record_renew_s: float = 5_400.0
    """What stays true is said anew in the directory after this time."""
    record_spread_s: float = 1_800.0
    """All that a master says of its buckets is spread over this time."""
    peer_renew_s: float = 1_200.0
    """Where a peer is is said anew in the directory after this time."""
    record_ttl_s: float = 7_200.0
    """How long a record of the directory counts."""
    robots_ttl_s: float = DAY_S
    """How long a robots.txt is believed."""
    robots_unreachable_ttl_s: float = 600.0
    """How long "keep out, robots.txt cannot be read" is believed before it is asked again."""

    @property
    def death_s(self) -> float:
        """The least time from a member's last sign of life to its being declared dead."""
        return self.probe_timeout_s + self.suspicion_min_s

    def validate(self) -> None:
        """Raises ConfigurationError naming the first inequality that does not hold."""
        for field in fields(self):
            if not getattr(self, field.name) > 0.0:
                raise ConfigurationError(f"{field.name} must be above 0, not {getattr(self, field.name)}")
        if self.drift >= 0.5:
            raise ConfigurationError(f"drift must be below 0.5, not {self.drift}: such a clock tells nothing")
        for law in self.laws():
            if not law.holds:
                raise ConfigurationError(law.refusal)

    def laws(self) -> Iterator[Law]:
        """Yields what must hold between these times."""
        yield from self._of_sessions()
        yield from self._of_deaths()
        yield from self._of_loans()
        yield from self._of_consent()
        yield from self._of_what_is_kept()

    def _of_sessions(self) -> Iterator[Law]:
        slow, fast = 1 - self.drift, 1 + self.drift
        yield Law(
            "void_s / (1 + drift)", self.void_s / fast, "fence_s / (1 - drift)", self.fence_s / slow,
            "a master would give pages to somebody else that its slave still fetches", "cluster.md", or_equal=True,
        )  # fmt: skip
        yield Law(
            "fence_s", self.fence_s, "3 * beat_s", 3 * self.beat_s,
            "a beat that is late would cost a session", "cluster.md",
        )  # fmt: skip
        yield Law(
            "silence_min_s", self.silence_min_s, "beat_s + watch_s", self.beat_s + self.watch_s,
            "slaves that live would be replaced", "cluster.md", or_equal=True,
        )  # fmt: skip

    def _of_deaths(self) -> Iterator[Law]:
        slow, fast = 1 - self.drift, 1 + self.drift
        yield Law(
            "suspicion_min_s", self.suspicion_min_s, "void_s", self.void_s,
            "a master would take over from one whose slaves still fetch", "copies.md",
        )  # fmt: skip
        yield Law(
            "fence_s", self.fence_s, "stood_still_s", self.stood_still_s,
            "a master that stood still until its slaves stopped would go on as if nothing had happened", "copies.md",
        )  # fmt: skip
        yield Law(
            "suspicion_min_s / (1 + drift)", self.suspicion_min_s / fast,
            "(stood_still_s + clock_look_s) / (1 - drift)", (self.stood_still_s + self.clock_look_s) / slow,
            "a master that stood still would not notice that others took over from it", "copies.md",
        )  # fmt: skip
        yield Law(
            "patience_s", self.patience_s, "looking_s", self.looking_s,
            "a master that comes back would serve what others have more of before it has found any", "copies.md",
        )  # fmt: skip
        yield Law(
            "drain_on_s", self.drain_on_s, "death_s", self.death_s,
            "a master that leaves would go before it knows that its heir is dead", "cluster.md",
        )  # fmt: skip
        yield Law(
            "results_patience_s", self.results_patience_s, "death_s", self.death_s,
            "results would be given up on before the dead are known to be", "cluster.md",
        )  # fmt: skip

    def _of_loans(self) -> Iterator[Law]:
        yield Law(
            "loan_dead_s", self.loan_dead_s, "suspicion_min_s", self.suspicion_min_s,
            "a borrower that restarted is gone without a suspicion, and slaves of its life before would still ask "
            "what it had borrowed", "overlay.md", or_equal=True,
        )  # fmt: skip
        yield Law(
            "loan_term_s", self.loan_term_s, "loan_spaced_s", self.loan_spaced_s,
            "a loan would end before the requests that it is for", "overlay.md",
        )  # fmt: skip

    def _of_consent(self) -> Iterator[Law]:
        slow, fast = 1 - self.drift, 1 + self.drift
        promise_s = self.promise_s / fast
        yield Law(
            "grant_s", self.grant_s, "3 * ask_s", 3 * self.ask_s,
            "one lost answer would stop a master", "majority.md", or_equal=True,
        )  # fmt: skip
        yield Law(
            "halt_s", self.halt_s, "grant_s + consent_look_s", self.grant_s + self.consent_look_s,
            "what is open would get no time to end", "majority.md",
        )  # fmt: skip
        yield Law(
            "promise_s / (1 + drift)", promise_s, "halt_s / (1 - drift) + heed_s", self.halt_s / slow + self.heed_s,
            "two views could be granted from at once", "majority.md", or_equal=True,
        )  # fmt: skip
        yield Law(
            "promise_s / (1 + drift)", promise_s,
            "(ask_s + fence_s) / (1 - drift)", (self.ask_s + self.fence_s) / slow,
            "slaves of a master that stood still after its last question would outlast what it was promised",
            "majority.md", or_equal=True,
        )  # fmt: skip
        yield Law(
            "death_s", self.death_s, "promise_s / (1 - drift)", self.promise_s / slow,
            "the living would wait for promises to one that is declared dead", "majority.md", or_equal=True,
        )  # fmt: skip
        yield Law(
            "part_s", self.part_s, "promise_s + ballot_margin_s", self.promise_s + self.ballot_margin_s,
            "one that leaves just after a change of the voters would keep its vote", "majority.md",
        )  # fmt: skip

    def _of_what_is_kept(self) -> Iterator[Law]:
        yield Law(
            f"{LEAPS_TO_FIRST_MAX} * leap_every_s", LEAPS_TO_FIRST_MAX * self.leap_every_s, "an hour", 3600.0,
            "rumours would soon bring a member where newcomers do not take it in", "threats.md",
        )  # fmt: skip
        yield Law(
            "record_ttl_s", self.record_ttl_s,
            "record_renew_s + record_spread_s", self.record_renew_s + self.record_spread_s,
            "the directory would forget what is still true", "overlay.md", or_equal=True,
        )  # fmt: skip
        yield Law(
            "record_ttl_s", self.record_ttl_s, "2 * peer_renew_s", 2 * self.peer_renew_s,
            "the directory would forget a peer of which one record got lost", "overlay.md",
        )  # fmt: skip
        yield Law(
            "a day", DAY_S, "record_ttl_s", self.record_ttl_s,
            "nobody takes in a record that counts for longer", "overlay.md", or_equal=True,
        )  # fmt: skip
        yield Law(
            "a day", DAY_S, "robots_ttl_s", self.robots_ttl_s,
            "a robots.txt would be believed for longer than RFC 9309 allows", "guarantees.md", or_equal=True,
        )  # fmt: skip
        yield Law(
            "robots_ttl_s", self.robots_ttl_s, "robots_unreachable_ttl_s", self.robots_unreachable_ttl_s,
            "an outage of a host would be believed for longer than what it says", "guarantees.md", or_equal=True,
        )  # fmt: skip


TIMINGS = Timings()
"""The times that this program goes by."""
