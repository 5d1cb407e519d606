"""What a master writes down of the others, so that its next run knows who is missing."""

from __future__ import annotations

from pathlib import Path
from random import Random

from p2pcrawl.model.gossip import Entry
from p2pcrawl.model.node import Status
from p2pcrawl.peer.acquaintances import FILE, Acquaintances
from tests.unit.core.membership_world import member


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


def test_nonsense_is_as_if_there_were_no_file(tmp_path: Path) -> None:
    for text in ("", "[", "{}", '[{"id": "x"}]', '[{"id": 7, "address": "a:1"}]', "null"):
        (tmp_path / FILE).write_text(text)

        assert Acquaintances(tmp_path).load() == []
