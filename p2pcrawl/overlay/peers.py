"""The door to the other masters: who they are, and how they are asked.

The parts of a master see and reach the others through this alone. :class:`p2pcrawl.overlay.door.Door` is it when
masters run; ``tests/peers.py`` is it where a test plays the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec.json import Decoder

from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.wire.messages.ask import PeerRequest, R

T = TypeVar("T")

ASK_S = 30.0
"""How long a reply is waited for: it may have to wait for a disk, for rows on their way, or for its turn."""
SOON_S = 10.0
"""How long one is waited for that the other gives from memory, or with one small write."""


class Peers(Protocol):
    """The other masters of the cluster, as this one knows them. Nobody but :meth:`ask` and :meth:`query` waits."""

    @property
    def me(self) -> NodeId:
        """The id of this master."""

    @property
    def view_digest(self) -> int:
        """The number of the view that the membership has now; a master may act in an earlier one yet."""

    def members(self) -> list[Member]:
        """Returns all that count, this one included, by id."""

    def others(self) -> list[Member]:
        """Returns all that count but this one, by id."""

    def living(self, node: NodeId) -> Member | None:
        """Returns the member, if it counts."""

    def known(self, node: NodeId) -> Member | None:
        """Returns the member, if it is known at all: it may be dead, or have left."""

    def all_asked(self) -> bool:
        """Tells whether each that this one began to join through was asked once, and has answered, or will not."""

    def missing(self) -> Sequence[Member]:
        """Returns those that went without handing over what they have, and are waited for."""

    async def ask(self, node: NodeId, request: PeerRequest[R], timeout_s: float = ASK_S) -> R:
        """Returns the other's reply, which is of the type that the request names.

        Raises LinkError when it does not count as a member, does not answer in time, refuses, or answers with anything
        else.
        """

    async def query(
        self, node: NodeId, what: str, arguments: Mapping[str, object], due: Decoder[T], timeout_s: float = SOON_S
    ) -> T:
        """Returns the other's answer to a question of faces, in JSON. ``due`` tells what it must be.

        Raises LinkError as :meth:`ask` does, also for an answer that is anything else, and what the other raised in its
        own words.
        """
