"""Accounts of masters among others: they are told once to those that are to keep them, and outlive their masters."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest
from msgspec.structs import replace as with_fields

from p2pcrawl.core.accounts import account_of
from p2pcrawl.core.slices import WorkSlices
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.copies import account_keeping
from p2pcrawl.master.copies.account_keeping import AccountKeeping
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.jobs.job import DELETED, Job, KnownJobs, job_of
from p2pcrawl.model.cluster.account import AccountKey
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from p2pcrawl.model.errors import LinkError, StorageError
from p2pcrawl.wire.messages.ask import PeerReply
from p2pcrawl.wire.messages.peer_messages import Copied, Copy, WireAccount
from tests.peers import FakePeers, member

ME, NEXT, LAST = (NodeId(letter * 40) for letter in "abc")
GONE = NodeId("d" * 40)
OF_GONE = WireAccount(GONE, "1" * 32, 7, 4, {"fetches": 30})


class Kept:
    """A master that keeps accounts, with two others that a test plays."""

    def __init__(self, folder: Path) -> None:
        self.brought: list[tuple[NodeId, WireAccount]] = []
        self.silent = False
        self.peers = FakePeers(ME, [member(ME), member(NEXT), member(LAST)], self._answer)
        self.holdings = Holdings(folder, _never)
        self.job: Job = job_of(JobSpec(JobId(7), "a", SpiderRef()))
        self.recorder = recorder = Recorder(folder, clustered=True)
        recorder.life = bytes(16).hex()
        self.slices = WorkSlices()
        self.accounts = AccountKeeping(self.peers, self.holdings, KnownJobs({7: self.job}), recorder, 2, self.slices)

    async def _answer(self, node: NodeId, request: object) -> PeerReply:
        assert isinstance(request, Copy)
        if self.silent:
            raise LinkError("it is away")
        self.brought += [(node, account) for account in request.accounts]
        return Copied(0)


def _never(error: Exception) -> None:
    raise error


async def test_what_was_counted_is_told_once_to_the_next_master_and_again_when_there_is_more(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.holdings.open()
    kept.job.counts.update(fetches=3, ends=3, queued=9)

    await kept.accounts.tell()
    await kept.accounts.tell()
    kept.job.counts.update(fetches=1, ends=1)
    await kept.accounts.tell()

    assert [(node, account.version, account.figures) for node, account in kept.brought] == [
        (NEXT, 3, {"fetches": 3}),
        (NEXT, 4, {"fetches": 4}),
    ]
    await kept.holdings.close()


async def test_who_comes_back_just_as_it_is_to_be_told_is_told_all_the_same(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.holdings.open()
    kept.job.counts.update(fetches=3, ends=3)
    members = kept.peers.members

    def one_comes_back() -> list[Member]:
        # Before anything that is begun after this look.
        asyncio.get_running_loop().call_soon(kept.accounts.restarted, NEXT)
        return members()

    kept.peers.members = one_comes_back  # type: ignore[method-assign]
    await kept.accounts.tell()
    kept.peers.members = members  # type: ignore[method-assign]
    await kept.accounts.tell()

    assert {(node, account.version) for node, account in kept.brought} == {(NEXT, 3)}
    await kept.holdings.close()


async def test_who_did_not_answer_or_came_back_in_another_life_is_told_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.holdings.open()
    kept.job.counts.update(fetches=3, ends=3)
    kept.silent = True
    await kept.accounts.tell()
    kept.silent = False

    await kept.accounts.tell()
    kept.accounts.restarted(NEXT)
    await kept.accounts.tell()

    assert [node for node, _ in kept.brought] == [NEXT, NEXT]
    await kept.holdings.close()


async def test_account_of_a_master_that_is_gone_is_kept_over_a_restart_and_brought_to_another(tmp_path: Path) -> None:
    before = Kept(tmp_path)
    await before.holdings.open()
    await before.accounts.take([OF_GONE, with_fields(OF_GONE, version=3, figures={"fetches": 20})])
    await before.holdings.close()
    kept = Kept(tmp_path)
    await kept.holdings.open()

    await kept.accounts.tell()

    assert [account.figures for account in kept.accounts.of_gone(7)] == [{"fetches": 30}]
    assert kept.brought == [(NEXT, OF_GONE)]
    await kept.holdings.close()


async def test_master_that_is_there_with_its_disk_is_not_told_of_by_others(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.holdings.open()

    await kept.accounts.take([with_fields(OF_GONE, master=NEXT, life=bytes(16).hex())])

    assert kept.accounts.of_gone(7) == []
    kept.peers.everybody = [member(ME), member(LAST)]
    assert [account.key.master for account in kept.accounts.of_gone(7)] == [NEXT]
    await kept.holdings.close()


async def test_nobody_tells_a_master_what_it_has_counted_itself(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.holdings.open()
    old = account_of(AccountKey(ME, bytes(16).hex(), 7), {"ends": 9, "fetches": 9})

    await kept.accounts.take([WireAccount(*old.key, old.version, dict(old.figures))])

    assert kept.accounts.of_gone(7) == []
    assert not kept.holdings.accounts
    await kept.holdings.close()


async def test_accounts_of_a_deleted_job_are_neither_taken_nor_told(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.holdings.open()
    await kept.accounts.take([OF_GONE])
    kept.job.counts.update(fetches=3, ends=3)
    kept.job.state = DELETED

    await kept.accounts.take([with_fields(OF_GONE, version=5)])
    await kept.accounts.tell()
    await kept.holdings.drop_job(7)

    assert kept.brought == []
    assert not kept.holdings.accounts
    await kept.holdings.close()


def hour_of(now_s: float) -> str:
    return f"h{int(now_s // 3600)}"


async def test_slice_is_on_the_disk_before_it_is_told_and_told_once(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.holdings.open()
    await kept.recorder.open()
    now_s = time.time()
    kept.slices.count_turn({7: {"pages": 3}}, now_s)

    await kept.accounts.tell()
    kept.slices.count_turn({7: {"pages": 1}}, now_s)
    on_disk = await kept.recorder.run(Store.slices)
    told = [(account.slice, account.figures) for _, account in kept.brought]
    await kept.accounts.tell()
    await kept.accounts.tell()

    assert sorted(told) == sorted((each.name, each.figures) for each in on_disk)
    assert [account.figures for _, account in kept.brought if account.slice == hour_of(now_s)] == [
        {"pages": 3},
        {"pages": 4},
    ]
    await kept.recorder.close()
    await kept.holdings.close()


async def test_master_that_comes_back_goes_on_with_its_slices(tmp_path: Path) -> None:
    before = Kept(tmp_path)
    await before.holdings.open()
    await before.recorder.open()
    before.slices.count_turn({7: {"pages": 3}}, time.time())
    await before.accounts.tell()
    await before.recorder.close()
    await before.holdings.close()

    kept = Kept(tmp_path)
    await kept.holdings.open()
    await kept.recorder.open()
    kept.accounts.recall(await kept.recorder.run(Store.slices))
    kept.slices.count_turn({7: {"pages": 1}}, time.time())
    await kept.accounts.tell()

    assert {each.figures["pages"] for each in kept.accounts.own_slices if each.name[0] == "d"} == {4}
    assert max(account.version for _, account in kept.brought) == 2
    await kept.recorder.close()
    await kept.holdings.close()


async def test_slices_of_a_master_that_is_gone_are_kept_and_those_that_are_too_old_are_not(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.holdings.open()
    hour = hour_of(time.time())

    await kept.accounts.take([with_fields(OF_GONE, slice=name) for name in (hour, "h1", "x1", "s64", "s3")])
    await kept.accounts.tell()

    assert sorted(account.key.slice for account in kept.accounts.slices_of_gone()) == sorted([hour, "s3"])
    assert kept.accounts.of_gone(7) == []
    assert sorted(account.slice for _, account in kept.brought) == sorted([hour, "s3"])
    await kept.holdings.close()


async def test_deleted_job_takes_its_slices_with_it(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.holdings.open()
    await kept.recorder.open()
    kept.slices.count_turn({7: {"pages": 3}}, time.time())
    await kept.accounts.tell()

    kept.job.state = DELETED
    kept.slices.count_turn({7: {"pages": 1}}, time.time())
    await kept.accounts.tell()

    assert kept.accounts.own_slices == [] == await kept.recorder.run(Store.slices)
    await kept.recorder.close()
    await kept.holdings.close()


async def test_disk_that_fails_is_told_in_a_line_and_not_by_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept(tmp_path)
    fails = asyncio.Event()

    async def broken() -> None:
        fails.set()
        raise StorageError("frontier.db: disk I/O error")

    async def nothing(*_: object) -> list[object]:
        return []

    monkeypatch.setattr(account_keeping, "TELL_S", 0.0)
    monkeypatch.setattr(kept.recorder, "run", nothing)
    monkeypatch.setattr(kept.accounts, "tell", broken)

    with caplog.at_level(logging.WARNING):
        running = asyncio.create_task(kept.accounts.run())
        await fails.wait()
        await asyncio.sleep(0)
        running.cancel()

    assert {(each.exc_info, each.getMessage()) for each in caplog.records} == {
        (None, "what was counted cannot be told now: frontier.db: disk I/O error")
    }
