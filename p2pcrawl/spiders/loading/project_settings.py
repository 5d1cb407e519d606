"""Settings as projects and their tests make them: ``Settings({"DEPTH_LIMIT": 3})``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.choosing.reading import Readings
from p2pcrawl.model.crawl.settings import Settings


class ProjectSettings(RankedSettings):
    """Settings in ranks, over the defaults that every crawl has."""

    def __init__(
        self,
        values: Mapping[str, Any] | str | None = None,
        priority: int | str = "project",
        known: Readings | None = None,
    ) -> None:
        super().__init__(values, priority, known if known is not None else Settings())
