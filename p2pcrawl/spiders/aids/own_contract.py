"""Contracts of one's own: what else the docstring of a callback may promise, checked by ``p2pcrawl check``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.finding.objects import load_object


class ContractFail(AssertionError):
    """Raised by a contract that is broken, and says how."""


class Contract:
    """A promise that people define: ``name`` is its word after @, ``args`` what follows there.

    Subclasses have some of ``adjust_request_args``, ``pre_process(response)`` and ``post_process(output)``, and raise
    ContractFail.
    """

    name: str = ""
    request_cls: Any = None
    """The class of the request, where it is to be another."""
    pre_process: Callable[..., Any] | None = None
    post_process: Callable[..., Any] | None = None

    def __init__(self, method: Callable[..., Any], *args: str) -> None:
        self.args = args

    def adjust_request_args(self, args: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments of the request for the page."""
        return args


def own_contracts(chosen: Mapping[str, Any]) -> dict[str, type[Contract]]:
    """Returns the classes that SPIDER_CONTRACTS names, by their words. Raises ConfigurationError."""
    found: dict[str, type[Contract]] = {}
    for path, order in chosen.items():
        if order is None or path.startswith("scrapy.contracts."):
            continue
        cls: Any = load_object(path)
        if not (isinstance(cls, type) and issubclass(cls, Contract) and cls.name):
            raise ConfigurationError(
                f"SPIDER_CONTRACTS: {path} is no subclass of p2pcrawl.contracts.Contract with a name"
            )
        found[cls.name] = cls
    return found
