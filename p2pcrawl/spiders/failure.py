"""The failure of a request, as an errback gets it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.finding.twisted_errors import counterpart

Raised = type[BaseException]


@dataclass(slots=True)
class PageFailure:
    """A request that failed for good: ``value`` is the exception, ``response`` the answer if one came."""

    request: Request
    value: BaseException
    response: Any = None

    def check(self, *kinds: Raised) -> Raised | None:
        """Returns the first of ``kinds`` that the exception is an instance of; Twisted's errors stand for ours."""
        return next((kind for kind in kinds if isinstance(self.value, counterpart(kind))), None)

    @property
    def type(self) -> Raised:
        """The class of the exception."""
        return type(self.value)

    def trap(self, *kinds: Raised) -> Raised:
        """Returns the first of ``kinds`` that the exception is an instance of. Raises it when it is of none."""
        kind = self.check(*kinds)
        if kind is None:
            raise self.value
        return kind

    def getTraceback(self) -> str:
        """Returns the traceback as text, under the name that Scrapy's users know."""
        return "".join(traceback.format_exception(self.value))

    def __str__(self) -> str:
        return f"{type(self.value).__name__}: {self.value}"

    def getErrorMessage(self) -> str:
        """Returns the message, under the name that Scrapy's users know."""
        return str(self.value)
