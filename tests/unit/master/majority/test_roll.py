"""The electorate on disk: what was promised or accepted is known to the next life."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.master.majority import roll
from p2pcrawl.master.majority.roll import FILE, Roll, new_seat
from p2pcrawl.model.cluster.consent import NOBODY, Decision, Poll, Version
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import StorageError

ME, OTHER = NodeId("a" * 40), NodeId("b" * 40)


async def test_first_peer_founds_and_its_next_life_knows(tmp_path: Path) -> None:
    first = Roll(tmp_path, ME)
    await first.found()

    second = Roll(tmp_path, ME)

    assert second.electorate.version == first.electorate.version != NOBODY
    assert second.electorate.voters == {ME: first.electorate.seat}
    assert second.electorate.seat == first.electorate.seat
    assert first.electorate.unused and not second.electorate.unused


async def test_who_has_heard_of_an_electorate_founds_none(tmp_path: Path) -> None:
    known = Decision(Version(5, 3), {OTHER: new_seat()})
    one = Roll(tmp_path, ME)
    await one.learn(known)

    await one.found()

    assert one.electorate.decision == known


async def test_what_was_accepted_is_known_after_a_restart(tmp_path: Path) -> None:
    one = Roll(tmp_path, ME)
    await one.found()
    wanted = {**one.electorate.voters, OTHER: new_seat()}
    ballot = await one.open_ballot(0)

    vote = await one.vote(Poll(one.electorate.version, ballot, wanted), 0.0)

    assert vote.given
    again = Roll(tmp_path, ME).electorate
    assert (again.ballot, again.accepted_in, again.accepted) == (ballot, ballot, wanted)
    assert not again.admits(again.version)


async def test_no_ballot_is_opened_twice_whatever_crashes(tmp_path: Path) -> None:
    one = Roll(tmp_path, ME)
    await one.found()

    first = await one.open_ballot(0)
    second = await Roll(tmp_path, ME).open_ballot(0)

    assert second > first


async def test_nothing_is_said_that_could_not_be_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Roll(tmp_path, ME)
    await one.found()

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(roll, "replace_secret", full)

    with pytest.raises(StorageError, match="No space left"):
        await one.vote(Poll(one.electorate.version, (1, ME)), 0.0)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"founded": 1}', "\x00"])
async def test_who_cannot_read_the_file_is_a_new_voter(tmp_path: Path, content: str) -> None:
    await Roll(tmp_path, ME).found()
    (tmp_path / FILE).write_text(content)

    one = Roll(tmp_path, ME)

    assert one.electorate.version == NOBODY
    assert one.electorate.unused


@pytest.mark.parametrize("content", ["", '{"founded": 1}'])
async def test_nothing_is_founded_beside_a_file_that_cannot_be_read(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)

    await Roll(tmp_path, ME).found()
    one = Roll(tmp_path, ME)
    await one.found()

    assert one.electorate.version == NOBODY
    known = Decision(Version(5, 3), {OTHER: new_seat()})
    assert await one.learn(known)
    assert Roll(tmp_path, ME).electorate.decision == known


async def test_file_is_for_its_own_user_alone(tmp_path: Path) -> None:
    await Roll(tmp_path, ME).found()

    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0
