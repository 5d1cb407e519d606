"""The spiders of a project, as scripts ask for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.aids.url_facts import url_is_from_spider
from p2pcrawl.spiders.loading.projects import ScrapyProject, closest_config
from p2pcrawl.spiders.spider import Spider


class SpiderLoader:
    """Finds spiders by their names in the modules that settings name."""

    def __init__(self, settings: RankedSettings) -> None:
        config = closest_config(Path.cwd())
        self._project = ScrapyProject(config.parent if config is not None else Path.cwd(), settings)

    @classmethod
    def from_settings(cls, settings: RankedSettings) -> SpiderLoader:
        return cls(settings)

    def load(self, spider_name: str) -> type[Spider]:
        """Returns the spider of that name. Raises KeyError where there is none, saying which there are."""
        try:
            return self._project.spider(spider_name)
        except ConfigurationError as error:
            raise KeyError(str(error)) from error

    def find_by_request(self, request: Any) -> list[str]:
        """Returns the names of those spiders that a request's host is of."""
        found = self._project.spiders().items()
        return [name for name, cls in found if url_is_from_spider(request.url, cls)]

    def list(self) -> list[str]:
        """Returns the names of all spiders."""
        return sorted(self._project.spiders())
