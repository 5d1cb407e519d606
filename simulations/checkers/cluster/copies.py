"""In the end everything is on as many disks as was asked for, which say the same of it, and on no others."""

from __future__ import annotations

from collections.abc import Iterator

from ...observe.folders import PHASES, Copy, Folder, Print
from ...play.evidence import Evidence, listed


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.ended:
        return
    enough = min(evidence.options.replicas, len(evidence.folders))
    holding = {name: _held(folder) for name, folder in evidence.folders.items()}
    few, many = [], []
    for name, folder in sorted(evidence.folders.items()):
        others = {whose: held for whose, held in holding.items() if whose != name}
        for key, record in folder.records.items():
            copies = {whose: those[key] for whose, those in others.items() if key in those}
            same = [whose for whose, copy in copies.items() if copy == Copy(record.phase, record.items)]
            if 1 + len(same) < enough:
                few.append(
                    f"{record.url} ({PHASES[record.phase]} at {name}, the same at {', '.join(same) or 'nobody'})"
                )
            if 1 + len(copies) > enough:
                many.append(f"{record.url} ({name}, {', '.join(copies)})")
    if few:
        yield f"{len(few)} URLs are on fewer than {enough} disks as they are: {listed(sorted(few))}"
    if many:
        yield f"{len(many)} URLs are on more disks than the {enough} that were asked for: {listed(sorted(many))}"


def _held(folder: Folder) -> dict[Print, Copy]:
    """Returns all that is in a folder, its own or others'."""
    return {**folder.copies, **{key: Copy(each.phase, each.items) for key, each in folder.records.items()}}
