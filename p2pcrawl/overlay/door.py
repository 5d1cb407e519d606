"""The way out to the other masters: who is there, as the membership has it, and a link to each that is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.json import Decoder

from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.model.cluster.node import Address, Member, NodeId
from p2pcrawl.model.errors import LinkError
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.peers import ASK_S, SOON_S, T
from p2pcrawl.wire.messages.ask import PeerRequest, R
from p2pcrawl.wire.sealed.tls import Seal


class Door:
    """The :class:`~p2pcrawl.overlay.peers.Peers` of a running master.

    It knows nothing of what comes in, so whoever has it does not have the whole node. It is made before the node has a
    place in the cluster; nobody is there until :meth:`open_to`.
    """

    def __init__(self, me: NodeId, seal: Callable[[], Seal]) -> None:
        self.me = me
        self.caller = Caller(seal)
        self._alive: Sequence[Member] = ()
        self._members: list[Member] = []
        """These, by id."""

    def open_to(self, membership: Membership) -> None:
        """Leads to these members from now on."""
        self.membership = membership

    @property
    def view_digest(self) -> int:
        return self.membership.view_digest

    def members(self) -> list[Member]:
        """Returns all that count, this one included, by id."""
        alive = self.membership.alive()
        if alive is not self._alive:
            self._alive, self._members = alive, sorted(alive, key=lambda m: m.id)
        return list(self._members)

    def others(self) -> list[Member]:
        """Returns all that count but this one, by id."""
        return [member for member in self.members() if member.id != self.me]

    def living(self, node: NodeId) -> Member | None:
        """Returns the member, if it counts."""
        member = self.membership.members.get(node)
        return member if member is not None and member.living else None

    def lives(self, node: NodeId) -> bool:
        """Tells whether a member counts."""
        return self.living(node) is not None

    def known(self, node: NodeId) -> Member | None:
        """Returns the member, if it is known at all."""
        return self.membership.members.get(node)

    def all_asked(self) -> bool:
        """Tells whether each that this one began to join through was asked once."""
        return not self.membership.unasked

    def missing(self) -> Sequence[Member]:
        """Returns those that went without handing over what they have, and are waited for."""
        return self.membership.missing()

    async def ask(self, node: NodeId, request: PeerRequest[R], timeout_s: float = ASK_S) -> R:
        """Returns the other's reply to a request. Raises LinkError when there is none of the type that is due."""
        return await self.caller.call(self._address_of(node), request, timeout_s)

    async def query(
        self, node: NodeId, what: str, arguments: Mapping[str, object], due: Decoder[T], timeout_s: float = SOON_S
    ) -> T:
        """Returns the other's answer to a question of faces. Raises LinkError, or what the other raised."""
        asked = json.dumps(arguments).encode()
        return decoded(node[:8], what, await self.caller.query(self._address_of(node), what, asked, timeout_s), due)

    def _address_of(self, node: NodeId) -> Address:
        member = self.living(node)
        if member is None:
            raise LinkError(f"{node[:8]} is not a member any more")
        return member.address


def decoded(who: str, what: str, answer: bytes, due: Decoder[T]) -> T:
    """Returns an answer to a question of faces. Raises LinkError when it is not what was due."""
    try:
        return due.decode(answer)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise LinkError(f"{who} answered {what} with what cannot be: {error}") from error
