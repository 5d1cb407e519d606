"""What a master writes down of the others, so that its next run knows who is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import cast

import pytest

from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.model.cluster.gossip import Entry
from p2pcrawl.model.cluster.node import Member, Status
from p2pcrawl.overlay.door import Door
from p2pcrawl.peer.acquaintances import FILE, SECOND, AcquaintanceKeeping, Acquaintances
from tests.unit.core.membership.membership_world import member


def test_what_was_saved_is_loaded_by_the_next_run(tmp_path: Path) -> None:
    rng = Random(1)
    alive, dead, left = (member(n, rng) for n in (1, 2, 3))

    Acquaintances(tmp_path).save([
        (Entry(alive, 1, Status.ALIVE), None),
        (Entry(dead, 4, Status.DEAD, 650.0), 1234.5),
        (Entry(left, 7, Status.LEFT, 5.0), 2345.0),
    ])  # fmt: skip
    loaded = {entry.member.id: (entry, since) for entry, since in Acquaintances(tmp_path).load()}

    assert loaded[alive.id] == (Entry(alive, 1, Status.DEAD), None)
    assert loaded[dead.id] == (Entry(dead, 4, Status.DEAD, 600.0), 1234.5)
    assert loaded[left.id] == (Entry(left, 7, Status.LEFT, 0.0), 2345.0)


def test_rows_of_an_older_version_are_of_members_that_may_be_missing(tmp_path: Path) -> None:
    one = member(1, Random(1))
    Acquaintances(tmp_path).save([(Entry(one, 1, Status.ALIVE), None)])
    text = (tmp_path / FILE).read_text()
    assert "state" not in text  # As it always was for those that lived.

    [(entry, since)] = Acquaintances(tmp_path).load()

    assert (entry.status, since) == (Status.DEAD, None)


NONSENSE = ("", "[", "{}", '[{"id": "x"}]', '[{"id": 7, "address": "a:1"}]', "null", "[7]", "\udcff")


@pytest.mark.parametrize("text", NONSENSE)
def test_file_that_is_damaged_is_kept_and_the_second_one_tells_the_same(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    Acquaintances(tmp_path).save([(Entry(member(1, Random(1)), 1, Status.DEAD), None)])
    bytes_ = text.encode("utf-8", "surrogateescape")
    (tmp_path / FILE).write_bytes(bytes_)

    [(entry, _)] = Acquaintances(tmp_path).load()

    assert entry.status is Status.DEAD
    [kept] = tmp_path.glob(f"{FILE}.damaged-*")
    assert kept.read_bytes() == bytes_
    [line] = [record.getMessage() for record in caplog.records]
    assert f"{FILE} is damaged" in line and kept.name in line and SECOND in line


@pytest.mark.parametrize("text", NONSENSE)
def test_nonsense_in_both_is_as_if_there_were_no_file(tmp_path: Path, text: str) -> None:
    for name in (FILE, SECOND):
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))

    assert Acquaintances(tmp_path).load() == []


class Met:
    """Members and absences, of which one member is known."""

    def __init__(self, one: Member) -> None:
        self.membership, self.one = self, one
        self.revision = 1

    def known(self) -> list[tuple[Entry, float | None]]:
        return [(Entry(self.one, 1, Status.ALIVE), None)]

    def others(self) -> list[Member]:
        return [self.one]


def test_what_the_disk_refused_is_written_as_soon_as_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    met, acquaintances = Met(member(1, Random(1))), Acquaintances(tmp_path)
    keeping = AcquaintanceKeeping(acquaintances, cast(Door, met), cast(Absences, met))

    def refuse(path: Path, data: bytes) -> None:
        raise OSError(5, "Input/output error")

    async def main() -> None:
        with monkeypatch.context() as disk:
            disk.setattr("p2pcrawl.peer.acquaintances.replace_secret", refuse)
            await keeping.note()
            await keeping.remember()
        assert acquaintances.missed == frozenset()

        await keeping.remember()

    asyncio.run(main())
    assert acquaintances.missed == {met.one.id}
    assert len(Acquaintances(tmp_path).load()) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
