"""The clusters that run on this machine: of one, any peer will do; of several, a person has to choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError

_LIVING = ("alive", "suspect")


def peer_of_the_one(here: Iterable[Address], ask: Callable[[Address], dict[str, Any]]) -> Address:
    """Returns the API of a peer that answers, where all that do are of one cluster. ``ask`` returns the status of the
    cluster as a peer tells it. Raises ConfigurationError, with what could be named, where there are several clusters;
    P2PCrawlError where nobody answers.
    """
    left, clusters, silent = sorted(here), list[_ClusterHere](), list[Address]()
    while left:
        address = left.pop(0)
        try:
            status = ask(address)
            members = {m["id"]: m["api"] for m in status["members"] if m["state"] in _LIVING}
            name = str(status["cluster"])
        except (P2PCrawlError, KeyError, TypeError):
            silent.append(address)
            continue
        cluster = next((each for each in clusters if each.members & members.keys()), None)
        if cluster is None:
            clusters.append(cluster := _ClusterHere(name))
        cluster.members |= members.keys()
        # Masters that it names are of it, and need not be asked.
        cluster.peers += [address, *(each for each in left if each in members.values())]
        left = [each for each in left if each not in members.values()]
    if not clusters:
        raise P2PCrawlError(f"no peer on this machine answers ({', '.join(silent)})")
    if len(clusters) > 1:
        told = "; ".join(f"{each.name}: {', '.join(each.peers)}" for each in clusters)
        raise ConfigurationError(
            f"{len(clusters)} clusters run on this machine: name a peer of one with --peer ({told})"
        )
    return clusters[0].peers[0]


class _ClusterHere:
    def __init__(self, name: str) -> None:
        self.name = name
        self.members: set[str] = set()
        self.peers: list[Address] = []
