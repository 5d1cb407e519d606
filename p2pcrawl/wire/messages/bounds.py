"""The bounds of messages' fields. Whatever is beyond is refused where it is read, with a LinkError: a broken peer loses
its link, and nothing of what it said comes further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from p2pcrawl.model.boards import job_board
from p2pcrawl.model.choosing.setting_bounds import SECONDS_MAX
from p2pcrawl.model.crawl import page_link
from p2pcrawl.model.crawl.record import PAGE_TYPE_MAX
from p2pcrawl.model.page_past import PAST_MAX

Fingerprint = Annotated[bytes, Meta(min_length=16, max_length=16)]
Number = Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
"""What a database can hold."""
Count = Annotated[int, Meta(ge=0, le=1 << 62)]
NodeName = Annotated[str, Meta(pattern="^([0-9a-f]{40})?$")]
SOUGHT_LINKS_MAX = 2_000
"""Links of stored pages in one message."""
HostHash = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
BucketNumber = Annotated[int, Meta(ge=0, lt=4096)]
Seconds = Annotated[float, Meta(ge=0.0, le=SECONDS_MAX)]
PhaseNumber = Annotated[int, Meta(ge=0, le=3)]
"""A model.record.Phase."""
PackedPast = Annotated[bytes, Meta(max_length=PAST_MAX)]
"""What earlier visits of a page learnt, packed."""
PageType = Annotated[str, Meta(max_length=PAGE_TYPE_MAX)]
"""What a page was taken for, and by which rule, such as ``article:pattern``."""
StatName = Annotated[str, Meta(min_length=2, max_length=201)]
"""A mark, and the name of a stat."""
StatsNews = Annotated[dict[StatName, Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]], Meta(max_length=200)]
LEFT_OUT_MAX = 16
"""Examples of links that were not followed, in one page's end."""
LEFT_OUT_CHARS = 500
"""As much of such a link is told."""
ENDPOINTS_MAX = 4_096
Endpoints = Annotated[list[Annotated[str, Meta(max_length=261)]], Meta(max_length=ENDPOINTS_MAX)]
"""Where peers listen, as host:port."""
OPENED_MAX = 256
"""How many hosts the start URLs of a job can open: they travel with its links. Who starts at more private hosts than
that names their network in the settings."""
BoardName = Annotated[str, Meta(min_length=1, max_length=job_board.NAME_MAX)]
OpenedHosts = Annotated[list[Annotated[str, Meta(min_length=1, max_length=253)]], Meta(max_length=OPENED_MAX)]

if TYPE_CHECKING:
    WireLink = page_link.Link
else:

    class WireLink(page_link.Link):
        """A link in a message: the same, and the decoder refuses one that is beyond these bounds."""

        __slots__ = ()
        fingerprint: Fingerprint
        depth: Number
        priority: Number
