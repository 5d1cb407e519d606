"""The store of copies: merged by stamps in any order, and durable when it says so."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.frontier.copies import copy_store as copies
from p2pcrawl.frontier.copies.account_rows import WITHOUT_SLICES
from p2pcrawl.frontier.copies.copy_store import LAYOUT, CopyStore, NoteRow, SpoolRow
from p2pcrawl.frontier.database.digest import Range
from p2pcrawl.model.cluster.account import Account, AccountKey
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.record import Phase, merged_stamp, stamp_of
from p2pcrawl.model.errors import DamagedError, LinkError, StorageError
from p2pcrawl.wire.messages.peer_messages import CopyRow
from tests.unit.frontier.batches import copy_row, place_of

EVERYTHING = range(8)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CopyStore]:
    store = CopyStore(tmp_path)
    yield store
    store.close()


def copy(number: int, stamp: int = 0, *, bucket: int = 1, job: int = 1, data: bytes = b"") -> CopyRow:
    return copy_row(bucket, number - 50, -number, job, stamp, b"%d at %d" % (number, stamp >> 1), data)


def contents(store: CopyStore, *, limit: int = 1000, bytes_max: int = 1 << 20) -> list[CopyRow]:
    found, after = [], b""
    while True:
        rows, after = store.rows(EVERYTHING, after, limit, bytes_max)
        if not rows:
            return found
        found += rows


rows_of_any_stamp = st.lists(
    st.builds(copy, st.integers(0, 6), st.integers(0, 7), bucket=st.integers(1, 2), job=st.integers(1, 2)),
    max_size=14,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows_of_any_stamp, dice=st.randoms(use_true_random=False))
def test_rows_come_to_the_same_in_whatever_order_and_however_often_they_are_put(
    store: CopyStore, rows: list[CopyRow], dice: Random
) -> None:
    best: dict[tuple[int, ...], CopyRow] = {}
    for row in rows:
        known = best.get(place_of(row), row)
        best[place_of(row)] = replace(
            max(row, known, key=lambda r: r.stamp), stamp=merged_stamp(row.stamp, known.stamp)
        )
    store.drop(EVERYTHING)

    again = rows + dice.sample(rows, len(rows) // 2)
    dice.shuffle(again)
    while again:
        some = dice.randint(1, len(again))
        store.put(again[:some])
        del again[:some]

    assert contents(store) == sorted(best.values(), key=place_of)
    assert store.count() == len(best)
    assert store.put(rows) == 0


def test_entry_stays_one_whatever_is_merged_with_it_and_its_page_is_what_is_further(store: CopyStore) -> None:
    link, entry, done = copy(1, 8), copy(1, 9), copy(1, 40, data=b"items")

    assert [store.put([row]) for row in (link, done, entry, link, done)] == [1, 1, 1, 0, 0]

    assert contents(store) == [replace(done, stamp=41)]


def test_older_copies_are_stamped_as_copies_are_now(tmp_path: Path) -> None:
    CopyStore(tmp_path).close()
    with sqlite3.connect(tmp_path / LAYOUT.file) as db:
        db.execute("INSERT INTO body VALUES (7, ?, 1, ?)", (b"row", b"item"))
        db.execute("INSERT INTO held VALUES (1, 2, 3, 4, ?, 7, 0)", (5 << 32 | 3 << 30 | 6 << 15 | 7,))
        db.execute("PRAGMA user_version=8")
    db.close()

    store = CopyStore(tmp_path)
    found = contents(store)
    store.close()

    assert [row.stamp for row in found] == [stamp_of(5, Phase.DONE, 6, 7)]


def test_further_row_wins_and_one_that_is_as_far_stays_what_it_is(store: CopyStore) -> None:
    first = copy(1, 10, data=b"kept")

    assert store.put([first]) == 1
    assert store.put([replace(first, row=b"other", data=b"")]) == 0
    assert store.put([replace(first, stamp=8, row=b"older")]) == 0
    assert contents(store) == [first]
    assert store.put([newer := copy(1, 12)]) == 1
    assert contents(store) == [newer]


def test_rows_are_read_piece_by_piece_in_the_order_of_their_keys(store: CopyStore) -> None:
    rows = [copy(n, bucket=n % 7, data=bytes(n)) for n in range(100)]
    store.put(rows)

    assert contents(store, limit=9) == contents(store, bytes_max=300) == sorted(rows, key=place_of)
    some, place = store.rows([3], b"", 5, 1 << 20)
    store.put([copy(101, bucket=2), copy(102, bucket=3)])
    rest, _ = store.rows([3], place, 1000, 1 << 20)
    assert some + rest == sorted([*(row for row in rows if row.bucket == 3), copy(102, bucket=3)], key=place_of)


def test_page_of_rows_stops_behind_its_limit_of_bytes_with_one_row_at_least(store: CopyStore) -> None:
    store.put([copy(n, data=bytes(1000)) for n in range(5)])

    assert [len(store.rows([1], b"", 100, size)[0]) for size in (1, 1500, 1 << 20)] == [1, 2, 5]


def test_place_that_there_is_not_is_refused(store: CopyStore) -> None:
    with pytest.raises(LinkError):
        store.rows([1], b"short", 10, 1000)


def test_rows_of_megabytes_are_kept_whole(store: CopyStore) -> None:
    rows = [copy(n, data=bytes([n]) * (3 << 20)) for n in range(3)]

    store.put(rows)

    assert contents(store) == rows


def test_rows_are_found_by_their_keys(store: CopyStore) -> None:
    store.put([copy(n) for n in range(10)] + [copy(3, bucket=2)])

    found = store.rows_of(1, [place_of(copy(n))[1:] for n in (3, 7, 77)])

    assert sorted(found, key=place_of) == [copy(3), copy(7)]


def test_dropped_buckets_are_gone_and_the_others_are_not(store: CopyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "DROP_ROWS", 4)
    rows = [copy(n, bucket=n % 3, job=n % 2) for n in range(40)]
    store.put(rows)

    assert store.drop([0, 2]) == sum(row.bucket != 1 for row in rows)
    assert contents(store) == sorted((row for row in rows if row.bucket == 1), key=place_of)
    assert store.count() == len(contents(store)) == store.digests(bytes(16), [Range(1, 0, 0)])[0][0]
    assert store.drop([0, 2]) == 0


def test_store_says_of_which_buckets_it_has_anything(store: CopyStore) -> None:
    assert store.bare
    store.put([copy(1, bucket=1)], [NoteRow(7, 2, 1.0, 0.0, 0.0)])

    assert [store.has_rows([b]) for b in (1, 2, 3)] == [True, False, False]
    assert store.sizes([1, 2, 3]) == {1: 1, 2: 1}
    store.drop([1])
    assert not store.has_rows(EVERYTHING) and not store.sizes([1]) and not store.bare


def test_dropped_job_counts_no_more(store: CopyStore) -> None:
    store.put([*(copy(n, job=1) for n in range(5)), copy(9, job=2)])

    assert store.drop_job(1) == 5
    assert (store.count(), store.bare) == (1, False)
    assert store.drop_job(2) == 1
    assert (store.count(), store.bare) == (0, True)


def test_dropped_row_can_come_back(store: CopyStore) -> None:
    store.put([copy(1, 9), copy(2, 9)])
    store.drop([1])

    assert store.put([copy(1, 3)]) == 1
    assert contents(store) == [copy(1, 3)]


def test_notes_are_told_with_what_remains_of_a_pause(store: CopyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(copies.time, "time", lambda: clock[0])
    store.put([], [NoteRow(7, 1, 2.5, 1.0, 60.0), NoteRow(8, 2, 3.0, 0.0, 0.0)])

    told = []
    for now in (1010.0, 2000.0, 10.0):
        clock[0] = now
        told += store.notes([1])

    assert [note.pause_s for note in told] == [50.0, 0.0, 60.0]
    assert told[0][:4] == (7, 1, 2.5, 1.0)
    assert sorted(store.notes(EVERYTHING))[1] == NoteRow(8, 2, 3.0, 0.0, 0.0)


def test_later_note_of_a_host_replaces_the_earlier_one(store: CopyStore) -> None:
    store.put([], [NoteRow(7, 1, 2.5, 1.0, 0.0)])
    store.put([], [NoteRow(7, 1, 0.5, 0.0, 0.0)])

    assert store.notes([1]) == [NoteRow(7, 1, 0.5, 0.0, 0.0)]


def test_everything_is_there_again_after_a_restart(tmp_path: Path) -> None:
    store = CopyStore(tmp_path)
    store.put([copy(n) for n in range(5)], [NoteRow(7, 1, 2.5, 1.0, 0.0)])
    store.set_standings({1: Standing(4), 2: Standing(9, 7, 3), 3: Standing(9, 7, 3, ((4, 5), (6, 7)))})
    store.set_standings({2: Standing(10)})
    store.spool([link := SpoolRow(1, 2, 3, 4, b"link")])
    store.close()

    store = CopyStore(tmp_path)

    assert (contents(store), store.count()) == ([copy(n) for n in range(5)], 5)
    assert store.notes([1]) == [NoteRow(7, 1, 2.5, 1.0, 0.0)]
    assert store.standings() == {1: Standing(4), 2: Standing(10), 3: Standing(9, 7, 3, ((4, 5), (6, 7)))}
    assert [row for _, row in store.spooled(0, 10)] == [link]
    store.close()


def test_accounts_of_a_format_without_slices_are_kept(tmp_path: Path) -> None:
    account = Account(AccountKey(NodeId("a" * 40), "1" * 32, 7), 4, {"fetches": 30})
    CopyStore(tmp_path).close()
    with sqlite3.connect(tmp_path / LAYOUT.file) as db:
        db.execute("DROP TABLE schedule")
        db.execute("DROP TABLE account")
        db.execute(WITHOUT_SLICES)
        row = (7, "a" * 40, "1" * 32, 4, msgspec.msgpack.encode(account.figures))
        db.execute("INSERT INTO account VALUES (?, ?, ?, ?, ?)", row)
        db.execute("PRAGMA user_version=6")
    db.close()

    store = CopyStore(tmp_path)

    assert store.accounts() == [account]
    store.close()


def test_standings_of_an_older_format_are_read_as_they_were_meant(tmp_path: Path) -> None:
    CopyStore(tmp_path).close()
    with sqlite3.connect(tmp_path / LAYOUT.file) as db:
        db.execute("DROP TABLE schedule")
        db.execute("DROP TABLE host_order")
        db.execute("DROP TABLE account")
        db.execute("ALTER TABLE held DROP COLUMN marks")
        db.execute("ALTER TABLE standing DROP COLUMN pieces")
        db.execute("ALTER TABLE standing DROP COLUMN base")
        db.execute("INSERT INTO standing VALUES (1, 4, 0), (2, 9, 9)")
        db.execute("PRAGMA user_version=1")
    db.close()

    store = CopyStore(tmp_path)

    assert store.standings() == {1: Standing(4), 2: Standing(9, 9)}
    store.close()


def test_accounts_are_there_when_the_store_is_opened_again_and_go_with_their_job(tmp_path: Path) -> None:
    first, other = (Account(AccountKey(NodeId("a" * 40), "b" * 32, job), 3, {"fetches": 7}) for job in (1, 2))
    store = CopyStore(tmp_path)
    store.set_accounts([first, other._replace(version=2, figures={})])
    store.set_accounts([other])
    store.close()

    again = CopyStore(tmp_path)

    assert again.accounts() == [first, other]
    again.drop_job(1)
    assert again.accounts() == [other]
    again.close()


def test_spool_gives_its_links_in_order_until_they_are_taken_out(store: CopyStore) -> None:
    links = [SpoolRow(1, n, -n, n % 3, b"%d" % n) for n in range(10)]
    store.spool(links)

    first = store.spooled(0, 4)
    rest = store.spooled(first[-1][0], 100)
    store.unspool([number for number, _ in first])

    assert [row for _, row in first + rest] == links
    assert store.spooled(0, 100) == rest
    assert store.spool_size() == 6


_PUTS = """
import sys
from pathlib import Path
from tests.unit.frontier.test_copies import copy
from p2pcrawl.frontier.copies.copy_store import CopyStore
store = CopyStore(Path(sys.argv[1]))
for n in range(1_000_000):
    store.put([copy(10 * n + k, n % 3, data=bytes(500)) for k in range(10)])
    print(n, flush=True)
"""


@pytest.mark.parametrize("after", [1, 40, 300])
def test_rows_that_were_acknowledged_are_there_after_a_kill(tmp_path: Path, after: int) -> None:
    with subprocess.Popen([sys.executable, "-c", _PUTS, str(tmp_path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        said = [int(child.stdout.readline()) for _ in range(after)]
        child.send_signal(signal.SIGKILL)
        said += [int(line) for line in child.stdout.read().splitlines()]
        assert child.wait() == -signal.SIGKILL

    store = CopyStore(tmp_path)
    found = contents(store, limit=10_000, bytes_max=1 << 30)
    count = store.count()
    store.close()

    there = {place_of(row): row for row in found}
    expected = [copy(10 * n + k, n % 3, data=bytes(500)) for n in said for k in range(10)]
    assert [there.get(place_of(row)) for row in expected] == expected
    # One more batch may be there, whole, whose acknowledgement was on its way.
    assert count == len(found)
    assert len(found) in (len(expected), len(expected) + 10)


def test_put_that_fails_leaves_nothing_behind(store: CopyStore) -> None:
    store.put([copy(1)])

    with pytest.raises(StorageError, match=r"copies\.db"):
        store.put([copy(1, 5), replace(copy(2), data=object())])  # Nothing that the database could keep.

    assert (contents(store), store.count()) == ([copy(1)], 1)
    assert store.put([copy(2)]) == 1


def test_file_that_is_no_store_of_copies_is_refused(tmp_path: Path) -> None:
    (tmp_path / LAYOUT.file).write_bytes(b"hello, world\n" * 1000)

    with pytest.raises(DamagedError, match=r"copies\.db is damaged"):
        CopyStore(tmp_path)
