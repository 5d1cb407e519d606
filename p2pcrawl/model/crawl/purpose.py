"""The purposes of a crawl that sites speak about: what is done with their content."""

from __future__ import annotations

from enum import StrEnum


class Purpose(StrEnum):
    """A use of pages that a site can allow or forbid."""

    SEARCH = "search"
    """An index that leads people to the pages."""
    AI_INPUT = "ai-input"
    """Input of a model that answers: grounding, retrieval, summaries."""
    AI_TRAIN = "ai-train"
    """Training or tuning a model."""


class ForbiddenPages(StrEnum):
    """The treatment of pages whose site forbids the purpose."""

    LEAVE_OUT = "leave-out"
    MARK = "mark"
    """They are fetched, their items say so, and they are counted."""
