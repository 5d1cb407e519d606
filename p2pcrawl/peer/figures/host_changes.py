"""The changes that people make to hosts while crawls run: how far apart requests are, and whether any are made."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, TypedDict

from p2pcrawl.core.ring.rendezvous import bucket_of_hash, key_hash
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.model.cluster.host_order import HostOrder
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.errors import ConfigurationError

log = logging.getLogger(__name__)

SET_HOST: Final = "set-host"


class OrderTold(TypedDict):
    """The word of a person on a host. Without a ``delay_s`` that of its jobs counts."""

    delay_s: float | None
    paused: bool


class HostChanged(TypedDict):
    """The outcome of a change; ``missing`` will learn of it later."""

    host: str
    owner: NodeId
    was: OrderTold
    set: OrderTold
    missing: list[NodeId]


class HostChanges:
    """Does what ``set-host`` says, and tells what has been changed."""

    def __init__(self, cluster: Cluster) -> None:
        self._orders = cluster.orders
        self._ownership = cluster.ownership
        self._journal = cluster.master.ground.journal

    async def change(self, arguments: Mapping[str, Any]) -> HostChanged:
        """Changes a host in the whole cluster: ``delay_s`` in seconds, or None to leave it to the jobs; ``paused``.
        Raises ConfigurationError for what cannot be.
        """
        host = str(arguments.get("host", "")).rstrip(".").lower()
        delay_s, paused = arguments.get("delay_s"), arguments.get("paused")
        if paused is not None and not isinstance(paused, bool):
            raise ConfigurationError("paused is true or false")
        if delay_s is not None and (isinstance(delay_s, bool) or not isinstance(delay_s, int | float)):
            raise ConfigurationError("delay_s is a number of seconds, or null for the delay that the jobs have")
        if "delay_s" not in arguments and paused is None:
            raise ConfigurationError("say what to change of the host: delay_s, paused or both")
        was = self._orders.of(host)
        missing = await self._orders.change(
            host,
            delay_s=None if delay_s is None else float(delay_s),
            delayed="delay_s" in arguments,
            paused=paused,
        )
        now = self._orders.of(host)
        noted = self._journal.note(Notable.HOST_CHANGED, host=host, delay_s=now.delay_s, paused=now.paused)
        log.info("%s is changed: delay %s, paused %s", host, now.delay_s, now.paused, extra=noted)
        return HostChanged(
            host=host,
            owner=self._ownership.owner_id(bucket_of_hash(key_hash(host))),
            was=order_told(was),
            set=order_told(now),
            missing=missing,
        )


def order_told(order: HostOrder) -> OrderTold:
    """Returns what people are told of an order."""
    return OrderTold(delay_s=order.delay_s, paused=order.paused)
