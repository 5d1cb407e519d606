"""The accounts of this master and of others: told to those that are to keep them, and kept for those that are gone.

Once a second each master tells its keepers what it has counted since, in one small message to each; pages cost nothing.
So a death for good takes with it what its master counted in the last second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

from p2pcrawl.core.accounts import account_of, account_version, keepers
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.jobs.job import Job, KnownJobs
from p2pcrawl.model.cluster.account import Account, AccountKey
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.peers import SOON_S, Peers
from p2pcrawl.wire.messages.peer_messages import ACCOUNTS_MAX, Copy, WireAccount

log = logging.getLogger(__name__)

TELL_S = 1.0


class AccountKeeping:
    """Tells and keeps accounts. ``copies``: how many masters are to have each, the one that it is of included."""

    def __init__(self, peers: Peers, holdings: Holdings, jobs: KnownJobs, recorder: Recorder, copies: int) -> None:
        self._peers = peers
        self._holdings = holdings
        self._jobs = jobs
        self._recorder = recorder
        self._copies = copies
        self._told: dict[NodeId, dict[AccountKey, int]] = {}
        """The version of each account that each keeper has on its disk."""

    @property
    def life(self) -> str:
        """The name of what this master has counted."""
        return self._recorder.life

    async def run(self) -> None:
        """Tells what is news, for ever."""
        while True:
            await asyncio.sleep(TELL_S)
            try:
                await self.tell()
            except Exception:
                log.exception("telling what was counted failed; it goes on")

    async def tell(self) -> None:
        """Tells all keepers at once what they do not know; returns when each has it on disk, or has not answered."""
        lives = {member.id: member.store.hex() for member in self._peers.members() if not member.leaving}
        members = sorted(lives)
        lacking: dict[NodeId, list[AccountKey]] = {}
        for key, version in self._versions().items():
            for node in keepers(key.master, members, self._copies, speaks=lives.get(key.master) == key.life):
                if node != self._peers.me and self._told.get(node, {}).get(key, 0) < version:
                    lacking.setdefault(node, []).append(key)
        await asyncio.gather(*(self._bring(node, keys) for node, keys in lacking.items()))

    async def take(self, told: Iterable[WireAccount]) -> None:
        """Keeps accounts of others; durable when this returns."""
        accounts = [
            Account(AccountKey(NodeId(one.master), one.life, one.job), one.version, one.figures)
            for one in told
            if not self._jobs.deleted(one.job) and (one.master, one.life) != (self._peers.me, self.life)
        ]
        if accounts:
            await self._holdings.keep_accounts(accounts)

    def of_gone(self, job: int) -> list[Account]:
        """Returns the accounts of a job that are kept here for masters that do not speak for themselves."""
        return [account for account in self._kept() if account.key.job == job]

    def restarted(self, node: NodeId) -> None:
        """Forgets what a member was told: it may have lost that."""
        self._told.pop(node, None)

    def _kept(self) -> list[Account]:
        lives = {member.id: member.store.hex() for member in self._peers.members()}
        return [
            account
            for account in self._holdings.accounts.values()
            if lives.get(account.key.master) != account.key.life and not self._jobs.deleted(account.key.job)
        ]

    def _versions(self) -> dict[AccountKey, int]:
        ours = {self._key(job): account_version(job.counts) for job in self._jobs.shown}
        return ours | {account.key: account.version for account in self._kept()}

    def _key(self, job: Job) -> AccountKey:
        return AccountKey(self._peers.me, self.life, job.id)

    def _account(self, key: AccountKey) -> Account | None:
        if (key.master, key.life) != (self._peers.me, self.life):
            return self._holdings.accounts.get(key)
        job = self._jobs.get(key.job)
        return account_of(key, job.counts) if job is not None else None

    async def _bring(self, node: NodeId, keys: Sequence[AccountKey]) -> None:
        try:
            for start in range(0, len(keys), ACCOUNTS_MAX):
                found = [self._account(key) for key in keys[start : start + ACCOUNTS_MAX]]
                accounts = [account for account in found if account is not None]
                told = [WireAccount(*account.key, account.version, dict(account.figures)) for account in accounts]
                # Whoever comes back while this is under way may have lost it: only a list that is still the node's own
                # learns of it.
                known = self._told.setdefault(node, {})
                await self._peers.ask(node, Copy(0, [], accounts=told), SOON_S)
                known.update((account.key, account.version) for account in accounts)
        except P2PCrawlError as error:
            log.debug("%s was not told all that was counted: %s", node[:8], error)
