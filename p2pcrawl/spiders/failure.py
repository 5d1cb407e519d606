"""The failure of a request, as an errback gets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from p2pcrawl.model.crawl.request import Request


@dataclass(slots=True)
class PageFailure:
    """A request that failed for good: ``value`` is the exception, ``response`` the answer if one came."""

    request: Request
    value: BaseException
    response: Any = None

    def check(self, *kinds: type[BaseException]) -> type[BaseException] | None:
        """Returns the first of ``kinds`` that the exception is an instance of."""
        return next((kind for kind in kinds if isinstance(self.value, kind)), None)

    def getErrorMessage(self) -> str:
        """Returns the message, under the name that Scrapy's users know."""
        return str(self.value)
