"""The lack of a mandate: without ``--partition majority`` every master grants what its own view gives it."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.ask import Answers


class NoMandate:
    """Takes the place of a :class:`~p2pcrawl.master.majority.mandate.Mandate`: it asks nobody."""

    votes = False

    def act(self, view: int) -> None:
        """Asks nobody for consent to a view."""

    def forgotten(self, node: NodeId) -> None:
        """Takes no vote away."""

    def runs(self, *, founds: bool) -> tuple[Coroutine[Any, Any, None], ...]:
        """Returns none: nothing is to be kept up."""
        return ()

    async def part(self, patience_s: float) -> None:
        """Returns at once: nobody waits for our vote."""

    async def close(self) -> None:
        """Returns at once."""

    def figures(self) -> None:
        """Returns None: there is nothing to tell."""

    def answers(self) -> Answers:
        """Returns none: voters have nothing to ask here."""
        return {}
