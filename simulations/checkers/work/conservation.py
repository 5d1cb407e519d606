"""Each master's counters are what counting its records gives, and every URL is in one frontier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...observe.folders import PHASES
from ...play.evidence import Evidence, listed


def check(evidence: Evidence) -> Iterator[str]:
    for name, folder in sorted(evidence.folders.items()):
        counted = Counter(PHASES[record.phase] for record in folder.records.values())
        counted["discovered"] = len(folder.records)
        counted["items"] = sum(record.items for record in folder.records.values())
        wrong = [
            f"{what} {folder.tally[what]} instead of {counted[what]}"
            for what in ("discovered", *PHASES, "items")
            if folder.tally[what] != counted[what]
        ]
        if wrong:
            yield f"the counters of {name} say {', '.join(wrong)}"
    several = sorted(url for url, those in evidence.records().items() if len(those) > 1)
    if several and evidence.ended:
        yield f"{len(several)} URLs are in more than one frontier: {listed(several)}"
