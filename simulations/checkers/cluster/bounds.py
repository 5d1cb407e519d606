"""Bounded memory, spools and messages: nothing that masters keep in hand or send grows without measure.

Where the crawler has a limit of its own that is the bound, but a small web cannot reach it. So the bounds are told from
what there is: so many links, so many pages, so many masters. They are generous, for what they are there to find grows
with time: a leak, or a storm.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence

CONCURRENT_MAX = 128
"""Pages in the hands of one slave: CONCURRENT_REQUESTS."""
WAITING_MAX = 50_000
"""Rows under way to others before a master grants no more leases."""


def check(evidence: Evidence) -> Iterator[str]:
    for what, bound in bounds(evidence).items():
        peak = evidence.peaks.get(what)
        if peak is not None and peak.amount > bound:
            yield f"{peak.name} had {peak.amount} {what} at {peak.now_s:.2f} s; {bound} are the most that can be right"
    # Where fewer are left than there should be copies, nothing that they tell each other is settled as long as the
    # others may come back: the spool stands in for a copy. Who is alone tells nobody.
    if evidence.ended and not 1 < len(evidence.folders) < evidence.options.replicas:
        for name, folder in sorted(evidence.folders.items()):
            if folder.spooled:
                yield f"{name} still keeps {folder.spooled} links that have too few copies elsewhere"


def bounds(evidence: Evidence) -> dict[str, int]:
    """Returns the most that there may be of each thing that is measured, for one master."""
    pages = evidence.web.pages.values()
    links = sum(len(page.links) for page in pages)
    copies = evidence.options.replicas
    peers = evidence.options.masters * (1 + evidence.options.slaves)
    return {
        # Each page tells its links once, but those that are fetched again while they wait.
        "links under way": min(WAITING_MAX, 2 * links),
        # Each page is told as a link and as an end, to each holder.
        "copies under way": min(WAITING_MAX, 2 * max(1, copies - 1) * len(pages) + 100),
        # Start URLs are told as links are.
        "spooled links": links + len(evidence.web.starts),
        "leases of a session": 2 * CONCURRENT_MAX,
        # One each way, and as many again while a lost one is being replaced.
        "connections": 32 + 4 * peers,
        # A slave has one for each page that it could fetch; its master one for each that it looks for among what is
        # stored.
        "tasks": (3 if evidence.rereadings else 2) * CONCURRENT_MAX + 32 + 10 * peers,
        # A probe and its answer, gossip to three five times a second, a directory that stores two records a second,
        # however many masters there are. Where many fall silent at once each of these is asked for a last word four
        # times in 2.4 s, at first by oneself, then by three others, too.
        "datagrams a second": 60 + 3 * evidence.options.masters,
        # One of them asks all others twice a second whether the job is finished.
        "pieces of streams a second": 200 + 5 * peers,
    }
