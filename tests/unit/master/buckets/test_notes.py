"""What masters note of buckets that change hands."""

from __future__ import annotations

from pathlib import Path

from p2pcrawl.model.cluster.notable import Notable
from tests.unit.master.fake_slaves import page_of
from tests.unit.master.masters import FakeMaster, arrive, eventually, settled, town_of


def noted(house: FakeMaster, kind: Notable) -> list[tuple[int, object]]:
    events = house.master.ground.journal.after(0)
    return [
        (event.fields["buckets"], event.fields.get("peer", event.fields.get("peers")))
        for event in events
        if event.kind is kind
    ]


async def test_owner_notes_the_buckets_that_a_newcomer_has_taken(tmp_path: Path) -> None:
    async with town_of(tmp_path, "a", answer=page_of) as (town, [a]):
        await eventually(lambda: settled([a]))

        b = await arrive(town, "b", page_of)
        await eventually(lambda: settled([a, b]) and bool(noted(a, Notable.HANDOVER)))

        assert noted(a, Notable.HANDOVER) == [(b.cluster.ownership.owned, b.id)]
        assert noted(b, Notable.HANDOVER) == noted(b, Notable.TAKEOVER) == []


async def test_heirs_note_what_they_take_over_and_hand_nothing_to_each_other(tmp_path: Path) -> None:
    async with town_of(tmp_path, "a", "b", "c", answer=page_of) as (_, [a, b, c]):
        await eventually(lambda: settled([a, b, c]))
        had = c.cluster.ownership.owned
        before = [len(noted(house, Notable.HANDOVER)) for house in (a, b)]

        await c.crash()
        await eventually(lambda: settled([a, b]))

        taken = [noted(house, Notable.TAKEOVER) for house in (a, b)]
        assert [peers for [(_, peers)] in taken] == [[c.id], [c.id]]
        assert sum(count for [(count, _)] in taken) == had
        assert [len(noted(house, Notable.HANDOVER)) for house in (a, b)] == before
