"""Accounts: what each master has counted of its work on a job, kept by others so that it outlives the master.

Pages and items are counted again from records by whoever has these. How often hosts were asked, how many bytes came, or
what people's code counts is in no record: the master that counted it is the only one that knows. So it tells others,
under a version that grows whenever it counts. An account is only ever replaced by a later version of itself; so what
several masters know of accounts joins in any order, however often, to the same, and nothing is counted twice.

An account is of a master and of its *life*, the name that its frontier got when it was new: one that comes back with
that goes on with its account, also when it has lost the copies beside it; without it it begins another beside the old.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from p2pcrawl.model.cluster.account import FIGURES_MAX, NAME_CHARS_MAX, VALUE_MAX, Account, AccountKey
from p2pcrawl.model.cluster.node import NodeId

STATS: Final = ("stats", "stats_max", "stats_min", "stats_last")
"""Groups of counters, each before a colon and the name."""
ENDS: Final = "ends"
"""How many ends of pages a master has taken in: never less than before, and more with each that it counts."""
_SINGLE: Final = {
    "items_dropped": "items_dropped",
    "fetches": "fetches",
    "interrupted": "interrupted",
    "slave_losses": "losses",
    "bytes": "bytes",
    "revisits": "revisits",
    "revisits_late": "revisits_late",
}
"""By the names that people see: those of the counters."""
_GROUPS: Final = {
    "retries_by_reason": "retries",
    "marked_by_reason": "marked",
    "filtered_links": "filtered",
    "statuses": "statuses",
    "revisits_by_result": "revisits",
    "page_types": "types",
    **{group: group for group in STATS},
}
_OWN: Final = frozenset(_SINGLE.values())
_OWN_GROUPS: Final = frozenset(_GROUPS.values())


Accounts = Mapping[AccountKey, Account]


def account_of(key: AccountKey, counts: Mapping[str, int]) -> Account:
    """Makes the account of a master from its counters of a job. What is beyond all bounds is left out."""
    own = sorted(name for name in counts if _is_own(name) and counts[name] and abs(counts[name]) <= VALUE_MAX)
    return Account(key, account_version(counts), {name: counts[name] for name in own[:FIGURES_MAX]})


def account_version(counts: Mapping[str, int]) -> int:
    """Returns the version that an account has with these counters: all that is counted in it raises one of these."""
    return sum(counts.get(name, 0) for name in (ENDS, "losses", "interrupted"))


def joined_accounts(accounts: Iterable[Account]) -> dict[AccountKey, Account]:
    """Joins what is known of accounts: of each the latest version."""
    latest: dict[AccountKey, Account] = {}
    for account in accounts:
        known = latest.get(account.key)
        if known is None or _rank(account) > _rank(known):
            latest[account.key] = account
    return latest


def bereft(accounts: Iterable[Account], speaking: Mapping[NodeId, str]) -> list[Account]:
    """Returns the accounts, each once, of those that do not speak for themselves, in a fixed order. ``speaking``: the
    masters that say what they have counted, and the life that each is in; an empty one is not known.
    """
    latest = joined_accounts(accounts)
    spoken = {key for key in latest if speaking.get(key.master) in ("", key.life)}
    return [latest[key] for key in sorted(latest.keys() - spoken)]


def keepers(master: NodeId, members: Sequence[NodeId], copies: int, *, speaks: bool) -> list[NodeId]:
    """Returns who is to keep an account of a master: those that come after it in the ring of the ``members``, whose ids
    are in order, so many that as many have it as there are to be copies. ``speaks``: the master is there, with the disk
    that it is of, and is one of them.
    """
    first = (bisect_right if speaks else bisect_left)(members, master)
    count = min(copies, len(members)) - speaks
    return [members[(first + place) % len(members)] for place in range(count)]


def told_figures(counts: Mapping[str, int]) -> dict[str, Any]:
    """Returns counters of work under the names that people see."""
    groups: dict[str, dict[str, int]] = {shown: {} for shown in _GROUPS}
    by_name = {name: shown for shown, name in _GROUPS.items()}
    for name, count in sorted(counts.items()):
        group, colon, what = name.partition(":")
        if colon and count and group in by_name:
            groups[by_name[group]][what] = count
    return {**{shown: counts.get(name, 0) for shown, name in _SINGLE.items()}, **groups}


def _is_own(name: str) -> bool:
    return len(name) <= NAME_CHARS_MAX and (name in _OWN or (name.partition(":")[0] in _OWN_GROUPS and ":" in name))


def _rank(account: Account) -> tuple[int, list[tuple[str, int]]]:
    # Equal versions have equal figures, unless somebody lies: then all believe the same.
    return account.version, sorted(account.figures.items())
