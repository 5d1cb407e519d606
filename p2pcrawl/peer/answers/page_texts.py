"""The verdicts on the text of a page, of each band of its signature: whether it was met before, and where."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from p2pcrawl.frontier.reading.inquiry import Inquiry, RecordRow
from p2pcrawl.wire.messages.imprints import imprint_of


def page_texts(inquiry: Inquiry, url: str, jobs: Collection[int]) -> list[dict[str, Any]]:
    """Returns what was found out here about the text of a page in these jobs, as plain data."""
    return [told for record in inquiry.imprints(url) if record.job in jobs and (told := _told(record))]


def page_texts_in(folder: Path, url: str, jobs: Collection[int]) -> list[dict[str, Any]]:
    """Returns the same from a data folder. Raises as every reading of one does."""
    with Inquiry(folder) as inquiry:
        return page_texts(inquiry, url, jobs)


def in_turn(texts: Collection[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns verdicts of several masters in the order in which they were asked for."""
    return sorted(texts, key=lambda text: (text["job"], text["visit"], text["band"]))


def _told(record: RecordRow) -> dict[str, Any] | None:
    imprint = imprint_of(record.link)
    if imprint is None:
        return None
    return {
        "job": record.job,
        "visit": imprint.visit,
        "band": imprint.band,
        "bands": imprint.near + 1,
        "phase": record.phase.name.lower(),
        "reason": record.reason,
        "first": imprint.first,
        "distance": imprint.distance,
        "items": len(imprint.items),
    }
