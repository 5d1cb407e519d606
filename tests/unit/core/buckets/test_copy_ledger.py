"""Which copies count, and what an acknowledgement is worth."""

from __future__ import annotations

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status

ME, B, C = (NodeId(letter * 40) for letter in "abc")


def member(node: NodeId, boot: bytes = b"boot----", store: bytes = bytes(16), leaving: bool = False) -> Member:
    return Member(node, Address("127.0.0.1:7117"), 1, Status.ALIVE, 1, boot, store, leaving=leaving)


def copying(*nodes: NodeId, copies: int = 2, known: int = 0) -> Copying:
    """Makes a ledger in which we own buckets 1 and 2, and all of ``nodes`` hold both."""
    it = Copying(ME, copies)
    it.change([member(ME), *(member(n) for n in nodes)], {1: nodes, 2: nodes}, known)
    return it


def bring(it: Copying, node: NodeId, *buckets: int) -> frozenset[int]:
    generation = it.generation(node)
    assert generation is not None
    return it.synced(node, buckets, generation)


def test_copy_counts_when_its_holder_has_been_brought_up_to_date() -> None:
    it = copying(B)
    assert it.unsynced(B) == {1, 2}
    assert it.provisional(1)

    assert bring(it, B, 1) == {1}

    assert not it.provisional(1)
    assert it.provisional(2)
    assert it.unsynced(B) == {2}
    assert it.lacking() == 1


def test_copy_of_a_process_that_has_restarted_does_not_count() -> None:
    it = copying(B)
    bring(it, B, 1, 2)

    it.change([member(ME), member(B, boot=b"another-")], {1: (B,), 2: (B,)}, 2)

    assert it.unsynced(B) == {1, 2}


def test_copy_on_another_disk_does_not_count() -> None:
    it = copying(B)
    bring(it, B, 1, 2)

    it.change([member(ME), member(B, store=b"x" * 16)], {1: (B,), 2: (B,)}, 2)

    assert it.unsynced(B) == {1, 2}


def test_what_was_begun_before_a_restart_does_not_make_a_copy_count() -> None:
    it = copying(B)
    before = it.generation(B)
    assert before is not None

    it.change([member(ME), member(B, boot=b"another-")], {1: (B,), 2: (B,)}, 2)

    assert it.synced(B, [1, 2], before) == frozenset()


def test_bucket_that_came_back_to_us_has_to_be_compared_again() -> None:
    it = copying(B)
    bring(it, B, 1, 2)

    it.change([member(ME), member(B)], {2: (B,)}, 2)
    it.change([member(ME), member(B)], {1: (B,), 2: (B,)}, 2)

    assert it.unsynced(B) == {1}


def test_what_others_knew_of_a_bucket_puts_its_copies_in_doubt() -> None:
    it = copying(B, C, copies=3)
    bring(it, B, 1, 2)
    bring(it, C, 1, 2)

    it.doubt({2, 99})

    assert it.unsynced(B) == it.unsynced(C) == {2}


def test_what_comes_into_a_bucket_while_a_holder_is_brought_to_it_has_to_be_compared_again() -> None:
    it = copying(B)
    before = it.generation(B)
    assert before is not None

    it.doubt({2})

    assert it.brought(B, [1, 2], before) == {1}
    assert it.synced(B, [1, 2], before) == {1}
    assert bring(it, B, 2) == {2}


def test_bucket_that_was_anothers_while_a_holder_was_brought_to_it_has_to_be_compared_again() -> None:
    it = copying(B)
    before = it.generation(B)
    assert before is not None

    it.change([member(ME), member(B)], {2: (B,)}, 2)
    it.change([member(ME), member(B)], {1: (B,), 2: (B,)}, 2)

    assert it.synced(B, [1, 2], before) == {2}


def test_fewer_masters_than_copies_cannot_make_everything_provisional() -> None:
    it = copying(B, copies=3)

    bring(it, B, 1)

    assert not it.provisional(1)


def test_master_that_may_come_back_counts_among_those_that_there_should_be() -> None:
    it = copying(B, copies=3, known=3)

    bring(it, B, 1)

    assert it.provisional(1)
    assert it.complete() == frozenset()


def test_lone_master_does_not_settle_what_comes_from_one_that_knows_of_others() -> None:
    it = copying()

    assert not it.provisional(1)
    assert it.provisional(1, known=7)


def test_what_others_know_does_not_ask_for_more_copies_than_there_should_be() -> None:
    it = copying(B)

    bring(it, B, 1)

    assert not it.provisional(1, known=7)


def test_who_has_left_is_told() -> None:
    it = copying(B, C)

    assert it.change([member(ME), member(C)], {1: (C,)}, 2) == [B]
    assert it.holders(1) == (C,)
    assert it.generation(B) is None


def test_lone_master_has_all_the_copies_that_there_can_be() -> None:
    it = Copying(ME)

    it.change([member(ME)], {1: (), 2: ()}, 1)

    assert it.complete() == {1, 2}
    assert not it.provisional(1)


def test_who_leaves_is_sent_changes_while_too_few_stay_and_counts_for_nothing() -> None:
    it = Copying(ME, 3)

    it.change([member(ME), member(B), member(C, leaving=True)], {1: (B,)}, 2)

    assert it.followers(1) == (B, C)
    assert it.holders(1) == (B,)
    assert bring(it, C, 1) == frozenset()
    bring(it, B, 1)
    assert it.provisional(1)
    assert it.lacking() == 0
    assert it.followers(2) == ()


def test_who_leaves_is_sent_nothing_that_enough_hold() -> None:
    it = Copying(ME, 2)

    it.change([member(ME), member(B), member(C, leaving=True)], {1: (B,)}, 2)

    assert it.followers(1) == (B,)
