"""The journal of a master: bounded, in order, and quiet about crowds."""

from __future__ import annotations

from p2pcrawl.core.journal import CROWD_MAX, CROWD_S, KEPT, TEXT_MAX, Journal
from p2pcrawl.model.cluster.notable import Notable


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_events_are_numbered_from_one_and_told_in_their_order() -> None:
    journal = Journal(Clock())

    for job in range(5):
        journal.note(Notable.JOB_STATE, job=job)

    assert [(event.seq, event.fields["job"]) for event in journal.after(2)] == [(3, 2), (4, 3), (5, 4)]
    assert journal.after(5) == journal.after(99) == []


def test_newest_are_told_when_not_all_are_asked_for() -> None:
    journal = Journal(Clock())

    for job in range(5):
        journal.note(Notable.JOB_STATE, job=job)

    assert [event.seq for event in journal.after(0, limit=2)] == [4, 5]


def test_oldest_fall_out_and_the_numbers_tell_of_it() -> None:
    journal = Journal(Clock())

    for _ in range(KEPT + 7):
        journal.note(Notable.BUCKET_WHOLE)

    events = journal.after(0)
    assert (len(events), events[0].seq, journal.last) == (KEPT, 8, KEPT + 7)


def test_long_texts_are_cut() -> None:
    journal = Journal(Clock())

    journal.note(Notable.SINK_AWAY, why="x" * 10_000)

    (event,) = journal.after(0)
    assert event.fields["why"] == "x" * TEXT_MAX


def test_of_a_crowd_some_are_noted_and_the_rest_is_counted() -> None:
    clock = Clock()
    journal = Journal(clock)

    for number in range(CROWD_MAX + 30):
        journal.note(Notable.HOST_DOWN, host=f"h{number}")
    clock.now += CROWD_S
    journal.note(Notable.HOST_DOWN, host="last")

    events = journal.after(0)
    assert len(events) == CROWD_MAX + 1
    assert events[-1].fields == {"host": "last", "unnoted": 30}


def test_line_of_the_log_says_what_was_noted() -> None:
    noted = Journal(Clock()).note(Notable.HANDOVER, buckets=3, peer="abc")

    assert noted == {"event": "handover", "fields": {"buckets": 3, "peer": "abc"}}
