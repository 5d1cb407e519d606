"""The accounts of this master and of others: told to those that are to keep them, and kept for those that are gone.

Once a second each master writes down which slices of its work have changed since, and tells its keepers these, and what
it has counted of jobs: a few small messages to each, however many pages there were. What is told is on the disk here
before, so that a master that comes back with it never counts on from less than others know. A death for good takes with
it what its master counted in the last second.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Sequence

from p2pcrawl.core.accounts import Accounts, account_of, account_version, keepers
from p2pcrawl.core.slices import Slice, WorkSlices, is_slice, outdated
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.jobs.job import Job, KnownJobs
from p2pcrawl.model.cluster.account import Account, AccountKey
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.peers import SOON_S, Peers
from p2pcrawl.wire.messages.peer_messages import ACCOUNTS_MAX, Copy, WireAccount

log = logging.getLogger(__name__)

TELL_S = 1.0
TOLD_FIGURES = 8_000
"""Figures in one message, about."""
LOOK_S = 600.0
"""How often it is looked for what is too old to be kept."""


class AccountKeeping:
    """Tells and keeps accounts. ``copies``: how many masters are to have each, the one that it is of included."""

    def __init__(
        self,
        peers: Peers,
        holdings: Holdings,
        jobs: KnownJobs,
        recorder: Recorder,
        copies: int,
        slices: WorkSlices,
    ) -> None:
        """``slices``: of this master's own work, as it is counted."""
        self._peers = peers
        self._holdings = holdings
        self._jobs = jobs
        self._recorder = recorder
        self._copies = copies
        self._slices = slices
        self._stored: dict[tuple[int, str], Slice] = {}
        """The slices of ours as they are on the disk here: no more than that is told."""
        self._lives: dict[NodeId, str] = {}
        """The members by whom it was judged last who is to keep what."""
        self._fresh: set[AccountKey] = set()
        """What has come or changed since then."""
        self._owed: dict[NodeId, set[AccountKey]] = {}
        """What each keeper is to be told."""
        self._told: dict[NodeId, dict[AccountKey, int]] = {}
        """The version of each account that each keeper has on its disk."""
        self._looked_at = time.monotonic()

    @property
    def life(self) -> str:
        """The name of what this master has counted."""
        return self._recorder.life

    async def run(self) -> None:
        """Tells what is news, for ever."""
        self.recall(await self._recorder.run(Store.slices))
        while True:
            await asyncio.sleep(TELL_S)
            try:
                await self.tell()
            except P2PCrawlError as error:
                # A disk that fails, or is full, ends the master by what needs it more than this does.
                log.warning("what was counted cannot be told now: %s", error)
            except Exception:
                log.exception("telling what was counted failed; it goes on")

    async def tell(self) -> None:
        """Tells all keepers at once what they do not know; returns when each has it on disk, or has not answered."""
        await self._store()
        lives = {member.id: member.store.hex() for member in self._peers.members() if not member.leaving}
        if lives == self._lives:
            news, self._fresh = self._fresh, set()
        else:
            news, self._fresh, self._lives = set(self._keys()), set(), lives
        # In order: which keeper is told first is of no account, but must not hang on the order of a set.
        self._owe([*sorted(news), *(self._key(job) for job in self._jobs.shown)], lives)
        self._owed = {node: keys for node, keys in self._owed.items() if node in lives and keys}
        await asyncio.gather(*(self._bring(node, owed) for node, owed in self._owed.items()))

    def _owe(self, keys: Iterable[AccountKey], lives: dict[NodeId, str]) -> None:
        members, keeping = sorted(lives), dict[tuple[NodeId, str], list[NodeId]]()
        for key in keys:
            whose = key.master, key.life
            if whose not in keeping:
                speaks = lives.get(key.master) == key.life
                keeping[whose] = keepers(key.master, members, self._copies, speaks=speaks)
            version = self._version(key)
            for node in keeping[whose]:
                if node != self._peers.me and self._told.get(node, {}).get(key, 0) < version:
                    self._owed.setdefault(node, set()).add(key)

    async def take(self, told: Iterable[WireAccount]) -> None:
        """Keeps accounts of others; durable when this returns."""
        now_s = time.time()
        accounts = [
            Account(AccountKey(NodeId(one.master), one.life, one.job, one.slice), one.version, one.figures)
            for one in told
            if not self._jobs.deleted(one.job)
            and (one.master, one.life) != (self._peers.me, self.life)
            and is_slice(one.slice)
            and not outdated(one.slice, now_s)
        ]
        if accounts:
            await self._holdings.keep_accounts(accounts)
            self._fresh.update(account.key for account in accounts if self._is_of_gone(account.key))

    def of_gone(self, job: int) -> list[Account]:
        """Returns the accounts of a job, without their slices, that are kept here for masters that do not speak for
        themselves.
        """
        return [account for account in self._kept(self._holdings.accounts) if account.key.job == job]

    @property
    def own_slices(self) -> list[Slice]:
        """The slices of our own work, as they are on the disk here; they never change, others take their places."""
        return list(self._stored.values())

    def slices_of_gone(self) -> list[Account]:
        """Returns the slices of accounts that are kept here for such masters."""
        return list(self._kept(self._holdings.slices))

    def restarted(self, node: NodeId) -> None:
        """Forgets what a member was told: it may have lost that."""
        self._told.pop(node, None)
        self._owed.pop(node, None)
        self._lives = {}

    # -- our own work -------------------------------------------------------------------------

    def recall(self, slices: Sequence[Slice]) -> None:
        """Takes up what was counted here before, as it is on the disk."""
        self._slices.load(slices)
        self._stored.update({(each.job, each.name): each for each in slices})
        self._lives = {}

    async def _store(self) -> None:
        """Writes down what has changed of our work."""
        news = self._slices.take_news()
        gone: list[tuple[int, str]] = []
        if time.monotonic() - self._looked_at >= LOOK_S or any(map(self._jobs.deleted, self._slices.jobs)):
            self._looked_at, now_s = time.monotonic(), time.time()
            gone = self._slices.keep({job.id for job in self._jobs.shown}, now_s)
            news = [each for each in news if (each.job, each.name) not in gone]
            old = [key for key in self._holdings.slices if outdated(key.slice, now_s)]
            await self._holdings.drop_accounts(old)
        if news or gone:
            try:
                await self._recorder.run(Store.set_slices, news, gone)
            except BaseException:
                self._slices.put_back(news)
                raise
        for whose in gone:
            self._stored.pop(whose, None)
        for each in news:
            self._stored[each.job, each.name] = each
            self._fresh.add(AccountKey(self._peers.me, self.life, each.job, each.name))

    # -- inside -------------------------------------------------------------------------------

    def _is_of_gone(self, key: AccountKey) -> bool:
        member = self._peers.living(key.master)
        return (member is None or member.store.hex() != key.life) and not self._jobs.deleted(key.job)

    def _kept(self, accounts: Accounts) -> Iterator[Account]:
        """Yields those of these accounts of which nobody speaks."""
        lives = {member.id: member.store.hex() for member in self._peers.members()}
        for account in accounts.values():
            if lives.get(account.key.master) != account.key.life and not self._jobs.deleted(account.key.job):
                yield account

    def _keys(self) -> Iterator[AccountKey]:
        """Yields all that is to be told by us: what is ours, and what is kept for those that are gone."""
        yield from (AccountKey(self._peers.me, self.life, job, name) for job, name in self._stored)
        for accounts in (self._holdings.accounts, self._holdings.slices):
            yield from (account.key for account in self._kept(accounts))

    def _key(self, job: Job) -> AccountKey:
        return AccountKey(self._peers.me, self.life, job.id)

    def _version(self, key: AccountKey) -> int:
        """Returns the version of an account that is to be told; 0 for one that is not here any more."""
        if (key.master, key.life) != (self._peers.me, self.life):
            account = self._holdings.account(key)
            return account.version if account is not None else 0
        if key.slice:
            known = self._stored.get((key.job, key.slice))
            return known.version if known is not None else 0
        job = self._jobs.get(key.job)
        return account_version(job.counts) if job is not None else 0

    def _account(self, key: AccountKey) -> Account | None:
        if (key.master, key.life) != (self._peers.me, self.life):
            return self._holdings.account(key)
        if key.slice:
            known = self._stored.get((key.job, key.slice))
            return Account(key, known.version, known.figures) if known is not None else None
        job = self._jobs.get(key.job)
        return account_of(key, job.counts) if job is not None else None

    async def _bring(self, node: NodeId, owed: set[AccountKey]) -> None:
        """Tells a keeper what it is owed; what it has on disk then is taken out of ``owed``, which is a list of its own
        life: one that comes back meanwhile is owed all anew.
        """
        keys = sorted(owed)
        try:
            for accounts in self._messages(keys):
                told = [
                    WireAccount(key.master, key.life, key.job, version, dict(figures), key.slice)
                    for key, version, figures in accounts
                ]
                # Whoever comes back while this is under way may have lost it: only a list that is still the node's own
                # learns of it.
                known = self._told.setdefault(node, {})
                await self._peers.ask(node, Copy(0, [], accounts=told), SOON_S)
                known.update((account.key, account.version) for account in accounts)
                owed.difference_update(account.key for account in accounts)
            owed.difference_update(key for key in keys if self._version(key) == 0)
        except P2PCrawlError as error:
            log.debug("%s was not told all that was counted: %s", node[:8], error)

    def _messages(self, keys: Iterable[AccountKey]) -> Iterator[list[Account]]:
        """Yields the accounts with these keys, as they are by then, so many at a time as a message holds."""
        accounts: list[Account] = []
        size = 0
        for key in keys:
            account = self._account(key)
            if account is None:
                continue
            accounts.append(account)
            size += len(account.figures)
            if len(accounts) == ACCOUNTS_MAX or size >= TOLD_FIGURES:
                yield accounts
                accounts, size = [], 0
        if accounts:
            yield accounts
