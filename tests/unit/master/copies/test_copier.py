"""What goes to the holders of copies, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.master.copies.copier import BYTES_MAX, ROWS_MAX, Copier, in_messages
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import CopyRow, WireHostNote
from tests.unit.master.masters import eventually

ME, B, C = (NodeId(letter * 40) for letter in "abc")


def row(name: bytes, bucket: int = 1, data: bytes = b"") -> CopyRow:
    return CopyRow(bucket, name.ljust(16, b"-"), 7, 1, b"row of " + name, 0, data)


def members(*nodes: NodeId) -> list[Member]:
    return [Member(n, Address("127.0.0.1:1"), 1, Status.ALIVE, 1, b"boot----", bytes(16)) for n in nodes]


class Holders:
    """The others: B holds bucket 1, C bucket 2. They answer when they are let."""

    def __init__(self) -> None:
        self.copying = Copying(ME)
        self.copying.change(members(ME, B, C), {1: (B,), 2: (C,)}, 3)
        self.abreast: list[Callable[[], None]] = []
        """What waits for all that is here to have copies."""
        self.copier = Copier(self.copying, self.send, self.abreast.append)
        self.got: list[tuple[NodeId, bytes]] = []
        self.notes: list[WireHostNote] = []
        self.silent: set[NodeId] = set()
        self.heard = asyncio.Event()
        self.refusing: set[NodeId] = set()

    def left(self, *nodes: NodeId, **owned: tuple[NodeId, ...]) -> None:
        """Lets these alone live besides the owner; ``owned``: who holds what by that view."""
        by_bucket = {int(name.removeprefix("bucket")): held for name, held in owned.items()}
        self.copier.gone(self.copying.change(members(ME, *nodes), by_bucket, 3))

    async def send(self, node: NodeId, rows: list[CopyRow], notes: list[WireHostNote]) -> None:
        while node in self.silent:
            await self.heard.wait()
        if node in self.refusing:
            raise LinkError("no")
        self.got += [(node, r.fingerprint.rstrip(b"-")) for r in rows]
        self.notes += notes


async def test_end_of_a_page_follows_its_links_wherever_they_go() -> None:
    holders = Holders()
    holders.silent = {C}

    holders.copier.transfer([row(b"link", bucket=2)], [row(b"page", bucket=1)])
    await asyncio.sleep(0.02)

    assert holders.got == []

    holders.silent.clear()
    holders.heard.set()
    await eventually(lambda: len(holders.got) == 2)

    assert holders.got == [(C, b"link"), (B, b"page")]
    await holders.copier.close()


async def test_end_waits_for_links_of_earlier_turns_too() -> None:
    """A link that was known already may still be on its way to its copies."""
    holders = Holders()
    holders.silent = {C}
    holders.copier.transfer([row(b"link", bucket=2)], [])

    holders.copier.transfer([], [row(b"page", bucket=1)])
    safe = asyncio.create_task(holders.copier.safe())
    await asyncio.sleep(0.02)

    assert holders.got == []
    assert not safe.done()

    holders.silent.clear()
    holders.heard.set()
    await asyncio.wait_for(safe, 5)
    await eventually(lambda: (B, b"page") in holders.got)
    await holders.copier.close()


async def test_page_is_copied_when_its_end_is_acknowledged_not_when_its_links_are() -> None:
    holders = Holders()
    holders.silent = {B}
    copied: list[str] = []
    holders.copier.transfer([row(b"link", bucket=2)], [row(b"page", bucket=1)])
    holders.copier.when_copied(lambda: copied.append("page"))
    await asyncio.wait_for(holders.copier.safe(), 5)
    await asyncio.sleep(0.02)

    assert copied == []

    holders.silent.clear()
    holders.heard.set()
    await eventually(lambda: copied == ["page"])
    await holders.copier.close()


async def test_page_whose_bucket_is_anothers_before_its_end_is_sent_is_copied_when_all_that_is_here_is() -> None:
    holders = Holders()
    holders.silent = {C}
    copied: list[str] = []
    holders.copier.transfer([row(b"link", bucket=2)], [row(b"page", bucket=1)])
    holders.copier.when_copied(lambda: copied.append("page"))

    holders.left(B, bucket2=(B,))
    holders.refusing = {C}
    holders.silent.clear()
    holders.heard.set()
    await eventually(lambda: len(holders.abreast) == 1)

    assert (holders.got, copied) == ([(B, b"link")], [])

    holders.abreast[0]()

    assert copied == ["page"]
    await holders.copier.close()


async def test_pages_are_copied_in_the_order_of_their_turns() -> None:
    holders = Holders()
    holders.silent = {B}
    copied: list[str] = []
    for name, bucket in (("first", 1), ("second", 2)):
        holders.copier.transfer([], [row(name.encode(), bucket=bucket)])
        holders.copier.when_copied(lambda name=name: copied.append(name))  # type: ignore[misc]
    await eventually(lambda: (C, b"second") in holders.got)
    await asyncio.sleep(0.02)

    assert copied == []

    holders.silent.clear()
    holders.heard.set()
    await eventually(lambda: copied == ["first", "second"])
    await holders.copier.close()


async def test_page_whose_holders_have_died_is_as_copied_as_can_be() -> None:
    holders = Holders()
    holders.silent = {B}
    copied: list[str] = []
    holders.copier.transfer([], [row(b"page")])
    holders.copier.when_copied(lambda: copied.append("page"))
    await asyncio.sleep(0.02)
    holders.refusing, holders.silent = {B}, set()

    holders.left(C, bucket1=(), bucket2=(C,))
    holders.heard.set()

    await eventually(lambda: copied == ["page"])
    await holders.copier.close()


async def test_what_waited_for_a_holder_that_died_goes_to_the_next_one_before_the_end_of_its_page_goes_anywhere() -> (
    None
):
    """Else the next one has it only when its bucket has been compared; a disk that is lost till then takes it along."""
    holders = Holders()
    holders.silent = {B, C}
    holders.copier.transfer([row(b"on its way", bucket=1)], [])
    await asyncio.sleep(0)
    holders.copier.transfer([row(b"waiting", bucket=1)], [row(b"page", bucket=2)])
    holders.refusing = {B}

    holders.left(C, bucket1=(C,), bucket2=(C,))
    holders.silent.clear()
    holders.heard.set()
    await eventually(lambda: len(holders.got) == 3)

    assert holders.got[-1] == (C, b"page")
    assert set(holders.got[:2]) == {(C, b"on its way"), (C, b"waiting")}
    await holders.copier.close()


async def test_ends_that_are_withheld_go_in_their_order_when_they_may_and_links_go_on() -> None:
    holders = Holders()
    holders.copier.withhold()
    copied: list[str] = []

    for name in ("first", "second"):
        holders.copier.transfer([row(f"link of {name}".encode())], [row(name.encode())])
        holders.copier.when_copied(lambda name=name: copied.append(name))  # type: ignore[misc]
    await asyncio.wait_for(holders.copier.safe(), 5)

    assert [name for _, name in holders.got] == [b"link of first", b"link of second"]
    assert copied == [] and holders.copier.under_way == 2

    holders.copier.withhold_no_longer()
    await eventually(lambda: copied == ["first", "second"])

    assert holders.copier.under_way == 0
    await holders.copier.close()


async def test_ends_that_are_withheld_wait_for_nobody_once_nobody_is_there() -> None:
    """Else a sink would get none of their items before others come; a job waits for that."""
    holders = Holders()
    holders.silent = {B}
    copied: list[str] = []
    holders.copier.withhold()
    for links in ([], [row(b"link")]):
        holders.copier.transfer(links, [row(b"page")])
        holders.copier.when_copied(lambda: copied.append("page"))

    holders.left(bucket1=())

    assert copied == ["page"], "the link of the other is on its way to one that is gone, which has to show"
    holders.refusing = {B}
    holders.silent.clear()
    holders.heard.set()
    await eventually(lambda: copied == ["page", "page"])
    assert holders.copier.under_way == 0
    await holders.copier.close()


async def test_with_nothing_on_its_way_all_is_copied_at_once() -> None:
    holders = Holders()
    copied: list[str] = []

    holders.copier.when_copied(lambda: copied.append("nothing"))

    assert copied == ["nothing"]


async def test_holder_that_refuses_is_asked_again_until_it_takes_it() -> None:
    holders = Holders()
    holders.refusing = {B}
    holders.copier.transfer([row(b"one")], [])
    await asyncio.sleep(0.05)
    assert holders.copier.under_way == 1

    holders.refusing.clear()
    await asyncio.wait_for(holders.copier.safe(), 5)

    assert holders.got == [(B, b"one")]
    await holders.copier.close()


async def test_holder_that_has_died_is_not_waited_for() -> None:
    holders = Holders()
    holders.refusing = {C}
    holders.copier.transfer([row(b"link", bucket=2)], [row(b"page", bucket=1)])
    await asyncio.sleep(0.02)

    holders.left(B, bucket1=(B,), bucket2=())

    await eventually(lambda: holders.got == [(B, b"page")])
    await eventually(lambda: holders.copier.under_way == 0)
    await holders.copier.close()


async def test_note_of_a_host_goes_to_those_that_may_own_it_next() -> None:
    holders = Holders()

    holders.copier.note(WireHostNote(5, 2, 1.5, 0.0, 30.0))

    await eventually(lambda: len(holders.notes) == 1)
    assert holders.notes[0].pause_s == 30.0
    await holders.copier.close()


async def test_many_notes_go_in_several_messages() -> None:
    holders = Holders()
    sent: list[int] = []

    async def send(node: NodeId, rows: list[CopyRow], notes: list[WireHostNote]) -> None:
        sent.append(len(notes))
        await holders.send(node, rows, notes)

    holders.copier = Copier(holders.copying, send, holders.abreast.append)
    holders.silent = {C}
    for key in range(10 * ROWS_MAX):
        holders.copier.note(WireHostNote(key, 2, 1.5, 0.0, 0.0))
    holders.silent.clear()
    holders.heard.set()

    await eventually(lambda: len(holders.notes) == 10 * ROWS_MAX)
    assert {note.key for note in holders.notes} == set(range(10 * ROWS_MAX))
    assert max(sent) <= ROWS_MAX
    await holders.copier.close()


def test_messages_are_bounded_by_rows_and_bytes() -> None:
    rows = [row(b"%d" % n, data=b"x" * (BYTES_MAX // 2)) for n in range(5)]

    parts = list(in_messages(rows))

    assert [r for part in parts for r in part] == rows
    assert [len(part) for part in parts] == [2, 2, 1]
    assert [len(p) for p in in_messages([row(b"%d" % n) for n in range(2_500)])] == [1000, 1000, 500]


async def test_what_waits_for_a_silent_holder_is_bounded() -> None:
    holders = Holders()
    holders.refusing = {B}
    for n in range(70):
        holders.copier.transfer([row(b"%d" % n)], [row(b"end %d" % n, data=b"x" * 1024 * 1024)])

    assert holders.copier.full

    holders.left()
    await eventually(lambda: holders.copier.under_way == 0)

    assert not holders.copier.full
    await holders.copier.close()


async def test_link_of_a_bucket_that_another_has_by_the_next_view_holds_up_the_end_of_its_page() -> None:
    """The dead one was to get it, and nobody is sent it from here: its next owner has not taken it over yet."""
    holders = Holders()
    holders.refusing = {C}
    holders.copier.transfer([row(b"link", bucket=2)], [row(b"page", bucket=1)])
    await asyncio.sleep(0.02)

    holders.left(B, bucket1=(B,))
    await asyncio.sleep(0.02)
    assert (holders.got, holders.copier.stranded) == ([], 1)

    holders.copier.withhold_no_longer()
    await eventually(lambda: holders.got == [(B, b"page")])
    await eventually(lambda: holders.copier.under_way == 0)
    await holders.copier.close()
