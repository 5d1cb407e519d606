"""All mutants by name. New protocol code comes with its own, in the module of its area."""

from __future__ import annotations

from ..making.mutant import Mutant
from .blind import (
    of_copies_again,
    of_copies_page,
    of_guarantees_page,
    of_majority_page,
    of_overlay_page,
    of_pages_once_more,
)
from .cluster import (
    of_handover,
    of_majority,
    of_membership,
    of_overlay,
    of_ownership,
    of_rivals,
    of_standings,
    of_states,
    of_takeover,
)
from .rows import of_copies, of_disks, of_entries, of_frontier, of_keeping, of_links_first
from .work import (
    of_bench,
    of_boards,
    of_delivery,
    of_ends,
    of_hosts,
    of_jobs,
    of_links,
    of_parts,
    of_sessions,
    of_slaves,
    of_stored_pages,
    of_texts,
    of_visits,
)

_AREAS: tuple[tuple[Mutant, ...], ...] = (
    of_handover.MUTANTS,
    of_majority.MUTANTS,
    of_membership.MUTANTS,
    of_overlay.MUTANTS,
    of_ownership.MUTANTS,
    of_rivals.MUTANTS,
    of_standings.MUTANTS,
    of_states.MUTANTS,
    of_takeover.MUTANTS,
    of_copies.MUTANTS,
    of_disks.MUTANTS,
    of_entries.MUTANTS,
    of_frontier.MUTANTS,
    of_keeping.MUTANTS,
    of_links_first.MUTANTS,
    of_bench.MUTANTS,
    of_boards.MUTANTS,
    of_delivery.MUTANTS,
    of_ends.MUTANTS,
    of_hosts.MUTANTS,
    of_jobs.MUTANTS,
    of_links.MUTANTS,
    of_parts.MUTANTS,
    of_sessions.MUTANTS,
    of_slaves.MUTANTS,
    of_stored_pages.MUTANTS,
    of_visits.MUTANTS,
    of_texts.MUTANTS,
    of_copies_again.MUTANTS,
    of_copies_page.MUTANTS,
    of_guarantees_page.MUTANTS,
    of_majority_page.MUTANTS,
    of_overlay_page.MUTANTS,
    of_pages_once_more.MUTANTS,
)

MUTANTS: dict[str, Mutant] = {mutant.name: mutant for area in _AREAS for mutant in area}
if len(MUTANTS) != sum(map(len, _AREAS)):
    raise ValueError("two mutants have one name")
