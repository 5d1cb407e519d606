"""A request of one peer to another, and the reply that is due to it.

A request names the type of its reply (``class Discover(Request[Settled])``), so whoever asks knows what comes back,
and an answer of any other type is refused here, once for all. Every request carries an ``id`` that its reply repeats.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Generic, Self, TypeVar, cast

from msgspec import Meta, Struct

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import LinkError


class PeerReply(Struct, array_like=True):
    """An answer of one peer to another."""

    id: int


R = TypeVar("R", bound=PeerReply, covariant=True)


class PeerRequest(Struct, Generic[R], array_like=True):
    """A request of one peer to another; ``R`` is the type of its reply."""

    id: int

    @classmethod
    def by(cls, answer: Callable[[Self, NodeId], Awaitable[R]]) -> Answer:
        """Pairs requests of this type with what answers them: given one and who asks, it returns the reply."""
        return cls, answer


Answer = tuple[type[PeerRequest[PeerReply]], Callable[[Any, NodeId], Awaitable[PeerReply]]]
Answers = Mapping[type[PeerRequest[PeerReply]], Callable[[Any, NodeId], Awaitable[PeerReply]]]
"""What a peer answers: a mapping of such pairs, which :meth:`PeerRequest.by` makes of types that fit each other."""


class Answered(PeerReply, tag=36):
    """Answers a question, in JSON; or says, with an ``error``, why a request of any kind was refused."""

    body: bytes
    error: str = ""
    usage: bool = False
    """The error is the asker's: what was asked for cannot be."""
    why: Annotated[int, Meta(ge=0, le=255)] = 0
    """Of such an error: it names what is not there (1), or what cannot be done now (2). More may come."""


def reply_type(request: type[PeerRequest[R]]) -> type[R]:
    """Returns the type of the reply that requests of this type name."""
    (base,) = request.__orig_bases__  # type: ignore[attr-defined]
    (reply,) = base.__args__
    return cast("type[R]", reply)


def due(asked: type[PeerRequest[R]], reply: PeerReply, who: str) -> R:
    """Returns the reply of ``who``, if it is of the type that requests like this name. Raises LinkError for any
    other."""
    if isinstance(reply, reply_type(asked)):
        return reply
    if isinstance(reply, Answered):
        raise LinkError(f"{who} refused {asked.__name__}: {reply.error}")
    raise LinkError(f"{who} answered {asked.__name__} with {type(reply).__name__}")
