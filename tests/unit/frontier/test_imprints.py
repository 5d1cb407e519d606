"""The verdicts on texts, given in the transaction that grants them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.frontier.records.batch import MovedRow, NewLink
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.record import Order, Phase, ShardKey
from p2pcrawl.model.outcome import NoPage
from p2pcrawl.model.texts.text_signatures import exact_signature
from p2pcrawl.wire.messages.imprints import Imprint, imprint_link, imprint_of
from tests.unit.frontier.batches import (
    assert_counters_equal_census,
    batch_of,
    end,
    grant,
    link,
    store_with_job,
)

_keys = Keys()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(store_with_job(tmp_path)) as made:
        yield made


def exact(page: str, text: str = "text", visit: int = 0, job: int = 1) -> NewLink:
    return placed(page, Imprint(exact_signature(text), 0, 0, fingerprint(page), visit, [b'{"a":1}']), job)


def near(page: str, bits: int, *, most: int = 3, band: int = 0, visit: int = 0) -> NewLink:
    return placed(page, Imprint(bits.to_bytes(8, "big"), most, band, fingerprint(page), visit, [b"{}"]))


def placed(page: str, imprint: Imprint, job: int = 1) -> NewLink:
    made = imprint_link(imprint, page, 1, 0)
    return NewLink(made, job, *_keys.place(ShardKey.HOST, made.url, made.fingerprint))


def judged(store: Store, *new: NewLink) -> list[Imprint]:
    """Stores these, grants those that are new in one transaction, and returns them with the verdicts on them."""
    return granted(store, store.commit(batch_of(new)).fresh)


def granted(store: Store, fresh: list[Candidate]) -> list[Imprint]:
    """Grants these in one transaction, and returns them with the verdicts on them."""
    batch = batch_of()
    for candidate in fresh:
        grant(batch, candidate)
    batch.imprints = fresh
    store.commit(batch)
    found = [imprint_of(candidate.link) for candidate in fresh]
    return [imprint for imprint in found if imprint is not None]


def firsts(store: Store, *new: NewLink) -> list[str]:
    return [imprint.first for imprint in judged(store, *new)]


A, B, C = (f"http://{name}.example/" for name in "abc")


def test_first_page_with_a_text_is_none_s_duplicate_and_all_others_are_its(store: Store) -> None:
    assert firsts(store, exact(A)) == [""]
    assert firsts(store, exact(B)) == [A]
    assert firsts(store, exact(C), exact(C, "other")) == [A, ""]


def test_of_those_that_are_granted_together_one_is_first(store: Store) -> None:
    assert firsts(store, exact(A), exact(B), exact(C)) == ["", A, A]


def test_imprint_that_comes_again_is_known_and_keeps_its_verdict(store: Store) -> None:
    judged(store, exact(A), exact(B))

    assert judged(store, exact(B), exact(A)) == []


def test_page_is_no_duplicate_of_its_own_earlier_visit(store: Store) -> None:
    judged(store, exact(A))

    assert firsts(store, exact(A, visit=1)) == [""]


def test_page_that_is_fetched_twice_in_one_visit_is_known_by_any_band(store: Store) -> None:
    judged(store, near(A, 0))

    assert judged(store, near(A, 0b1)) == []


def test_jobs_do_not_know_each_other_s_texts(store: Store) -> None:
    store.add_job(2, "other", b"spec", None, batch_of())
    judged(store, exact(A))

    assert firsts(store, exact(B, job=2)) == [""]


def test_near_text_is_a_duplicate_within_the_distance_and_not_beyond(store: Store) -> None:
    judged(store, near(A, 0))

    within, beyond = judged(store, near(B, 0b111), near(C, 0b1111))

    assert (within.first, within.distance) == (A, 3)
    assert beyond.first == ""


def test_nearest_is_named_and_of_equals_the_first(store: Store) -> None:
    judged(store, near(A, 0b11))
    (second,) = judged(store, near(B, 0b11_1111))

    assert (second.first, firsts(store, near(C, 0b11))) == ("", [A])


def test_duplicate_is_nobody_s_first(store: Store) -> None:
    judged(store, near(A, 0), near(B, 0b111))

    assert firsts(store, near(C, 0b11_1111)) == [""]


def test_texts_that_agree_in_another_band_only_meet_there(store: Store) -> None:
    # The first band is the highest 16 bits, the second the next.
    one, other = 1 << 63, 0
    judged(store, near(A, one), near(A, one, band=1))

    assert firsts(store, near(B, other)) == [""]
    assert firsts(store, near(B, other, band=1)) == [A]


def ended(store: Store, new: NewLink, phase: Phase, reason: str) -> None:
    """Stores, grants and ends an imprint."""
    (candidate,) = store.commit(batch_of([new])).fresh
    batch = batch_of()
    grant(batch, candidate)
    batch.imprints = [candidate]
    store.commit(batch)
    batch = batch_of()
    end(batch, candidate, phase, reason=reason)
    if phase is Phase.DROPPED:
        batch.tallies[1][f"dropped:{reason}"] += 1
    store.commit(batch)


def moved_to(heir: Store, store: Store, of: NewLink | None = None) -> list[Candidate]:
    """Gives an heir all that a store has of the bucket of a text, and returns what is new to it."""
    of = of or exact(A)
    rows, _ = store.rows_of({of.bucket}, 0, 10)
    batch = batch_of()
    batch.moved = [MovedRow(NewLink(row.link, row.job, of.host, of.bucket, foreign=True), row) for row in rows[::-1]]
    return heir.commit(batch).fresh


@pytest.mark.parametrize("reason", [NoPage.ORIGINAL, NoPage.ASKED_ON])
def test_first_is_first_wherever_it_moves(store: Store, tmp_path: Path, reason: str) -> None:
    ended(store, exact(A), Phase.DONE, reason)
    ended(store, exact(B), Phase.DROPPED, "duplicate")

    with closing(store_with_job(tmp_path / "heir")) as heir:
        moved_to(heir, store)

        assert firsts(heir, exact(C)) == [A]
        assert_counters_equal_census(heir)


def test_duplicate_that_moves_alone_makes_nobody_one(store: Store, tmp_path: Path) -> None:
    judged(store, exact(A))
    ended(store, exact(B), Phase.DROPPED, "duplicate")

    with closing(store_with_job(tmp_path / "heir")) as heir:
        moved_to(heir, store)

        # Of the first it is not known what came of it: it is judged with the others.
        assert firsts(heir, exact(C)) == [""]


def test_heir_that_knew_of_an_imprint_learns_that_it_is_the_first(store: Store, tmp_path: Path) -> None:
    ended(store, exact(A), Phase.DONE, NoPage.ORIGINAL)

    with closing(store_with_job(tmp_path / "heir")) as heir:
        heir.commit(batch_of([exact(A)]))
        moved_to(heir, store)

        assert firsts(heir, exact(B)) == [A]


def test_heir_lets_go_on_what_may_have_gone_on_already(store: Store, tmp_path: Path) -> None:
    store.commit(batch_of([near(A, 0)]))

    with closing(store_with_job(tmp_path / "heir")) as heir:
        assert firsts(heir, near(B, 0)) == [""]
        verdicts = granted(heir, moved_to(heir, store, near(A, 0)))

    assert [(v.page, v.first) for v in verdicts] == [(fingerprint(A), "")]


def test_imprint_in_its_last_band_is_judged_by_the_heir(store: Store, tmp_path: Path) -> None:
    store.commit(batch_of([exact(A)]))

    with closing(store_with_job(tmp_path / "heir")) as heir:
        assert firsts(heir, exact(B)) == [""]
        verdicts = granted(heir, moved_to(heir, store))

    assert [(v.page, v.first) for v in verdicts] == [(fingerprint(A), B)]


def test_imprint_that_is_granted_again_keeps_its_verdict(store: Store) -> None:
    fresh = store.commit(batch_of([exact(A), exact(B)])).fresh
    for _ in range(2):
        batch = batch_of()
        batch.imprints = fresh
        grant(batch, fresh[0])
        store.commit(batch)

        assert [imprint_of(candidate.link).first for candidate in fresh] == ["", A]  # type: ignore[union-attr]


def test_verdict_is_there_after_a_restart(tmp_path: Path) -> None:
    with closing(store_with_job(tmp_path)) as store:
        judged(store, exact(A), exact(B))

    with closing(store_with_job(tmp_path)) as store:
        rows, _ = store.rows_of({exact(A).bucket}, 0, 10)

    assert sorted(imprint_of(row.link).first for row in rows) == ["", A]  # type: ignore[union-attr]


def test_who_has_let_go_of_a_bucket_knows_nothing_of_its_texts(store: Store) -> None:
    judged(store, exact(A))

    store.forget({exact(A).bucket}, {1: Order.PRIORITY})

    assert rows(store) == 0
    assert firsts(store, exact(B)) == [""]


def test_texts_of_a_deleted_job_are_gone(store: Store) -> None:
    judged(store, exact(A))

    store.drop_job(1, Order.PRIORITY)

    assert rows(store) == 0


def test_restart_knows_the_texts(tmp_path: Path) -> None:
    with closing(store_with_job(tmp_path)) as store:
        judged(store, exact(A))

    with closing(store_with_job(tmp_path)) as store:
        assert firsts(store, exact(B)) == [A]


def test_job_that_does_not_ask_leaves_no_trace(store: Store) -> None:
    store.commit(batch_of([link(A), link(B)]))

    with closing(sqlite3.connect(store.folder / FILE)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'imprint%'").fetchone() == (0,)


def test_link_that_only_looks_like_an_imprint_is_a_record_without_a_verdict(store: Store) -> None:
    odd = exact(A)
    odd = odd._replace(link=odd.link._replace(extra=b"nonsense"))

    (candidate,) = store.commit(batch_of([odd])).fresh
    batch = batch_of()
    batch.imprints = [candidate]
    store.commit(batch)

    assert candidate.link == odd.link


def rows(store: Store) -> int:
    with closing(sqlite3.connect(store.folder / FILE)) as db:
        return int(db.execute("SELECT count(*) FROM imprint").fetchone()[0])
