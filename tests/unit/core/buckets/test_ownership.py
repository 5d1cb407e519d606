"""Who owns which bucket: the laws of the state machine."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.buckets.ownership import COUNTER_MAX, Change, Ownership, SoleOwner
from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.model.cluster.epoch import epoch_after, epoch_turn
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status

IDS = [NodeId(f"{n:040x}") for n in range(1, 7)]


def member(id: NodeId, weight: int = 1, leaving: bool = False) -> Member:
    return Member(id, Address("127.0.0.1:1"), 1, Status.ALIVE, weight, bytes(8), bytes(16), leaving=leaving)


def members(*ids: NodeId) -> list[Member]:
    return [member(id) for id in ids]


def owned(o: Ownership) -> set[int]:
    return {b for b in range(BUCKETS) if o.owner(b) is None}


def view(o: Ownership, seen: list[Member], number: int) -> Change:
    """A new view; what nobody has to let go of is served."""
    change = o.change(seen, number)
    o.serve(o.succeed(change.ready))
    return change


def let_go(o: Ownership, node: NodeId, buckets: Iterable[int]) -> frozenset[int]:
    """Lets one go of buckets. Returns what is served because of that."""
    return o.serve(o.succeed(o.released(node, buckets)))


def test_master_alone_owns_and_serves_everything_at_once() -> None:
    o = Ownership(IDS[0])

    change = view(o, members(IDS[0]), 1)

    assert change.gained == frozenset(range(BUCKETS))
    assert change.ask == ()
    assert all(o.serves(b) for b in range(BUCKETS))
    assert o.complete and not o.syncing


def test_what_is_gained_is_served_when_everybody_has_let_go() -> None:
    o = Ownership(IDS[0])
    change = view(o, members(*IDS[:3]), 1)
    assert set(change.ask) == {IDS[1], IDS[2]}
    assert not any(o.serves(b) for b in range(BUCKETS))

    assert let_go(o, IDS[1], change.gained) == frozenset()
    assert let_go(o, IDS[2], change.gained) == change.gained

    assert {b for b in range(BUCKETS) if o.serves(b)} == change.gained
    assert o.complete


def test_who_dies_is_not_waited_for() -> None:
    o = Ownership(IDS[0])
    view(o, members(*IDS[:3]), 1)
    let_go(o, IDS[1], o.awaited(IDS[1]))

    view(o, members(*IDS[:2]), 2)

    gained = owned(o) - {b for b in range(BUCKETS) if o.serves(b)}
    assert o.awaited(IDS[2]) == frozenset()
    assert o.awaited(IDS[1]) == gained


def test_join_takes_only_the_newcomers_share_and_moves_nothing_between_the_others() -> None:
    a, b = Ownership(IDS[0]), Ownership(IDS[1])
    view(a, members(*IDS[:2]), 1)
    view(b, members(*IDS[:2]), 1)

    change_a, change_b = view(a, members(*IDS[:3]), 2), view(b, members(*IDS[:3]), 2)

    assert not change_a.gained and not change_b.gained
    assert change_a.lost and change_b.lost


def test_bucket_that_is_lost_is_served_no_more_and_asked_for_no_more() -> None:
    o = Ownership(IDS[0])
    view(o, members(IDS[0]), 1)
    change = view(o, members(*IDS[:2]), 2)

    assert not any(o.serves(b) for b in change.lost)
    assert not o.awaited(IDS[1]) & change.lost


def test_release_of_what_was_lost_and_gained_again_counts_for_nothing() -> None:
    o = Ownership(IDS[0])
    view(o, members(IDS[0]), 1)
    lost = view(o, members(*IDS[:2]), 2).lost
    view(o, members(IDS[0]), 3)
    regained = view(o, members(*IDS[:2]), 4).lost
    assert regained == lost
    assert let_go(o, IDS[1], lost) == frozenset()


def test_leaving_member_owns_nothing_but_is_asked() -> None:
    o = Ownership(IDS[0])
    view(o, members(*IDS[:2]), 1)
    let_go(o, IDS[1], o.awaited(IDS[1]))

    change = view(o, [member(IDS[0]), member(IDS[1], leaving=True)], 2)

    assert owned(o) == set(range(BUCKETS))
    assert change.ask == (IDS[1],)
    mine = Ownership(IDS[1])
    view(mine, [member(IDS[0]), member(IDS[1], leaving=True)], 2)
    assert owned(mine) == set()


def test_when_all_are_leaving_all_own() -> None:
    o = Ownership(IDS[0])
    view(o, [member(id, leaving=True) for id in IDS[:2]], 1)

    assert 0 < len(owned(o)) < BUCKETS


def test_offer_of_what_is_ours_is_claimed_while_it_is_served() -> None:
    o = Ownership(IDS[0])
    view(o, members(*IDS[:2]), 1)
    let_go(o, IDS[1], o.awaited(IDS[1]))
    mine = next(iter(owned(o)))
    theirs = next(b for b in range(BUCKETS) if o.owner(b) is not None)

    assert o.offered(IDS[1], {mine, theirs})
    assert o.awaited(IDS[1]) == {mine}
    assert o.serves(mine)
    assert not o.complete
    assert not o.offered(IDS[1], {theirs})
    assert not o.offered(IDS[5], {mine})


def test_who_comes_back_is_asked_for_what_is_missing_of_what_is_served_and_that_is_served_on() -> None:
    """It held a copy, was cut off, and was back before its own view had changed: it offered nothing of that."""
    o = Ownership(IDS[0])
    view(o, members(*IDS[:2]), 1)
    let_go(o, IDS[1], owned(o))
    later = Ownership(IDS[0])
    view(later, members(*IDS[:3]), 2)
    broken, whole = sorted(owned(o) & owned(later))[:2]
    o.lacks[broken] = o.counters[broken]

    change = view(o, members(*IDS[:3]), 2)

    assert IDS[2] in change.ask
    assert broken in o.awaited(IDS[2])
    assert whole not in o.awaited(IDS[2])
    assert o.serves(broken)


def test_epoch_exceeds_all_that_was_heard_of_and_never_falls() -> None:
    o = Ownership(IDS[0])
    gained = view(o, members(*IDS[:2]), 1).gained
    bucket = next(iter(gained))

    o.join_standing(bucket, Standing(41))
    let_go(o, IDS[1], gained)

    assert o.counters[bucket] > 41
    assert not o.broken()


def test_absurd_epochs_of_another_do_not_break_ours() -> None:
    o = Ownership(IDS[0])
    gained = view(o, members(*IDS[:2]), 1).gained

    for bucket in gained:
        o.join_standing(bucket, Standing((1 << 63) - 1))
    served = let_go(o, IDS[1], gained)

    assert served == gained
    assert max(o.counters) == COUNTER_MAX
    o2 = Ownership(IDS[0])
    gained = view(o2, members(*IDS[:2]), 1).gained
    for bucket in gained:
        o2.join_standing(bucket, Standing(-5, -5, -5))
    let_go(o2, IDS[1], gained)
    assert min(o2.counters[b] for b in gained) > 0
    assert not o2.broken()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1 << 30))
def test_all_with_one_view_agree_and_each_bucket_has_one_owner_at_most_one_server(seed: int) -> None:
    """Random joins, leaves and releases, in the same order for all or not."""
    dice = Random(seed)
    all_ = {id: Ownership(id) for id in IDS[:4]}
    for number in range(1, 6):
        living = sorted(dice.sample(IDS[:4], dice.randint(1, 4)))
        for id in living:
            before = list(all_[id].counters)
            view(all_[id], members(*living), number)
            assert all(now >= then for now, then in zip(all_[id].counters, before, strict=True))
        tables = [[all_[id].owner_id(b) for b in range(0, BUCKETS, 37)] for id in living]
        assert all(table == tables[0] for table in tables)
        for id in living:
            for other in living:
                if id != other and dice.random() < 0.7:
                    let_go(all_[id], other, all_[id].awaited(other))
        for b in range(0, BUCKETS, 37):
            assert sum(all_[id].serves(b) for id in living) <= 1


def test_without_an_overlay_everything_is_ours() -> None:
    assert SoleOwner().owner(5) is None
    assert SoleOwner().serves(5)
    assert not SoleOwner().misses(5)


# -- what is lacking -------------------------------------------------------------------------------

standings = st.builds(
    lambda epoch, lack, base: Standing(epoch, min(lack, epoch), base),
    *(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
)


def test_what_comes_late_makes_a_bucket_whole_with_what_was_there_before_it_was_served() -> None:
    """We were whole up to 3; who served 4 and 5 lacked 3, and says so only when we have begun to serve."""
    o = Ownership(IDS[0])
    change = view(o, members(*IDS[:2]), 1)
    bucket = min(change.gained)
    o.counters[bucket], o.lacks[bucket] = 3, 0
    o.join_standing(bucket, Standing(5, 5))
    let_go(o, IDS[1], [bucket])
    assert o.broken() == [bucket]
    assert o.misses(bucket)

    o.join_standing(bucket, Standing(5, 3))

    assert not o.broken()
    assert not o.misses(bucket)


def test_each_view_and_each_new_claim_is_another_turn() -> None:
    o = Ownership(IDS[0])
    generations = [o.generation]
    for change in (lambda: view(o, members(*IDS[:2]), 1), o.claim_anew, lambda: view(o, members(*IDS[:2]), 1)):
        change()
        generations.append(o.generation)

    assert len(set(generations)) == 4


def test_who_has_handed_a_bucket_over_lacks_what_came_after() -> None:
    o = Ownership(IDS[0])
    view(o, members(IDS[0]), 1)
    assert not o.broken()

    o.handed_over({7: (epoch_after(o.counters[7], IDS[1]), o.counters[7])})
    lost = view(o, members(*IDS[:2]), 2).lost
    view(o, members(IDS[0]), 3)

    assert o.broken() == ([7] if 7 in lost else [])


def test_patient_owner_serves_only_what_is_whole() -> None:
    o = Ownership(IDS[0])
    o.recall({3: Standing(5, 5)})
    o.patient = True
    view(o, members(IDS[0]), 1)

    assert not o.serves(3)
    assert o.serves(4)

    o.patient = False

    assert o.serves(3)


def test_with_consent_asked_for_what_was_ours_is_served_on_and_what_is_gained_waits_for_the_new_view() -> None:
    o = Ownership(IDS[0], consent=lambda: True)
    view(o, members(*IDS[:2]), 1)
    let_go(o, IDS[1], owned(o))
    assert not any(o.serves(b) for b in range(BUCKETS))
    ours = o.confirm()

    view(o, members(IDS[0]), 2)

    assert {b for b in range(BUCKETS) if o.serves(b)} == ours
    assert o.confirm() == frozenset(range(BUCKETS)) - ours
    assert all(o.serves(b) for b in range(BUCKETS))


def test_without_consent_nothing_is_served_from_that_moment_on() -> None:
    agreed = [True]
    o = Ownership(IDS[0], consent=lambda: agreed[0])
    view(o, members(IDS[0]), 1)
    o.confirm()
    assert o.serves(7)

    agreed[0] = False

    assert not o.serves(7)
    assert o.in_service(7)


def test_who_did_not_hear_that_we_have_a_bucket_is_asked_again() -> None:
    o = Ownership(IDS[0])
    change = o.change(members(*IDS[:2]), 1)
    ready = o.released(IDS[1], change.gained)
    assert ready == change.gained
    epochs = o.succeed(ready)
    assert not any(o.serves(b) for b in ready)

    o.ask_again([IDS[1]], epochs)

    assert o.awaited(IDS[1]) == ready
    assert o.released(IDS[1], ready) == ready


def test_answer_to_an_epoch_that_another_has_followed_serves_nothing() -> None:
    """Somebody offers the bucket, lets go of it with a later epoch, and only then all have heard of the one before."""
    o = Ownership(IDS[0])
    bucket = min(o.change(members(*IDS[:2]), 1).gained)
    first = o.succeed(o.released(IDS[1], [bucket]))

    o.offered(IDS[1], [bucket])
    o.join_standing(bucket, Standing(later := epoch_after(first[bucket], IDS[1])))
    second = o.succeed(o.released(IDS[1], [bucket]))

    assert o.serve(first) == frozenset()
    assert o.ask_again([IDS[1]], first) == frozenset()
    assert o.serve(second) == {bucket}
    assert o.counters[bucket] == epoch_after(later, IDS[0])


def test_what_comes_back_while_it_is_given_up_is_not_taken_in_before_that_is_done() -> None:
    o = Ownership(IDS[0], keeps=True)
    o.change(members(*IDS[:1]), 1)
    bucket = min(o.change(members(*IDS[:2]), 2).lost)
    o.let_go([bucket])
    assert o.taken(IDS[1], [bucket]) == {bucket}

    assert not o.may_have(IDS[1], [bucket])
    o.change(members(*IDS[:1]), 3)
    before = o.awaited(IDS[0])

    assert o.given_up([bucket]) == {bucket}
    assert (bucket in before, bucket in o.awaited(IDS[0])) == (False, True)


def test_word_that_was_given_to_one_owner_is_none_to_the_next() -> None:
    o = Ownership(IDS[0])
    o.change(members(*IDS[:1]), 1)
    bucket = min(b for b in o.change(members(*IDS[:2]), 2).lost)
    o.let_go([bucket])
    assert o.promised(IDS[1]) == {bucket}

    o.change(members(IDS[0], *IDS[2:6]), 3)
    owner = o.owner_id(bucket)

    assert o.taken(IDS[1], [bucket]) == o.taken(owner, [bucket]) == frozenset()
    assert owner == IDS[0] or o.left_over >= {bucket}


def test_claim_that_a_new_view_interrupts_makes_nobody_lack_what_never_was() -> None:
    """A heard that N would serve its bucket; before N did, the next view gave it to X."""
    a, n, x = (Ownership(i) for i in IDS[:3])
    bucket = min(n.change(members(*IDS[:2]), 1).gained)
    a.synced(bucket, 2)
    n.join_standing(bucket, a.standings([bucket])[bucket])

    told = n.succeed(n.released(a.me, [bucket]))
    a.handed_over({bucket: (told[bucket], n.since(bucket))})
    for other in (a, n):
        x.join_standing(bucket, other.standings([bucket])[bucket])

    assert a.lacks[bucket] == told[bucket]
    assert x.lacks[bucket] == 0


def test_who_was_not_known_when_a_bucket_came_to_us_is_asked_for_it_too() -> None:
    """A newcomer hears of the others one after the other."""
    o = Ownership(IDS[0])
    o.change(members(*IDS[:2]), 1)

    o.change(members(*IDS[:3]), 2)

    assert o.awaited(IDS[2]) == owned(o)


def test_newcomer_stops_serving_what_one_that_it_did_not_know_may_serve() -> None:
    o = Ownership(IDS[0], new_here=True)
    view(o, members(*IDS[:2]), 1)
    let_go(o, IDS[1], o.awaited(IDS[1]))
    assert any(o.serves(b) for b in owned(o))

    view(o, members(*IDS[:3]), 2)

    assert not any(o.serves(b) for b in owned(o))
    assert o.awaited(IDS[2]) == owned(o)

    o.new_here = False
    let_go(o, IDS[2], owned(o))
    view(o, members(*IDS[:4]), 3)

    assert all(o.serves(b) for b in owned(o))


@settings(max_examples=20, deadline=None)
@given(st.lists(standings, max_size=8))
def test_epoch_never_falls_whatever_is_heard_and_however_often_we_begin_anew(heard: list[Standing]) -> None:
    o = Ownership(IDS[0])
    o.change(members(IDS[0]), 1)
    epochs = [0]
    for standing in heard:
        o.join_standing(3, standing)
        epochs.append(o.counters[3])
        o.succeed(o.claim_anew().ready)
        epochs.append(o.counters[3])

    assert epochs == sorted(epochs)


def heir(o: Ownership, *others: Ownership) -> int:
    """A bucket that goes to ``o`` by the view of all these, which have synced copies of it; who holds it besides."""
    everybody = members(*sorted([o.me, *(other.me for other in others)]))
    for each in (o, *others):
        each.change(everybody, 9)
    bucket = next(b for b in sorted(owned(o)))
    for other in others:
        other.synced(bucket, 5)
        o.join_standing(bucket, other.standing(bucket))
    return bucket


def begin(o: Ownership, bucket: int) -> dict[int, int]:
    """Lets all let go of a bucket that is claimed anew; returns the epoch that begins."""
    o.claim_anew()
    for id in IDS:
        ready = o.released(id, [bucket])
    return o.succeed(ready or {bucket})


def tell(o: Ownership, bucket: int, *others: Ownership) -> None:
    epoch = begin(o, bucket)[bucket]
    for other in others:
        other.handed_over({bucket: (epoch, o.since(bucket))}, {bucket: o.rivals(bucket)})


def test_holder_that_had_everything_follows_the_new_epoch_and_lacks_nothing() -> None:
    o, *others = (Ownership(id) for id in IDS[:3])
    bucket = heir(o, *others)
    [follower] = [other for other in others if other.me in o.holders(bucket)]
    [stranger] = [other for other in others if other.me not in o.holders(bucket)]

    tell(o, bucket, *others)

    epoch = o.counters[bucket]
    assert follower.standing(bucket) == Standing(epoch)
    assert stranger.standing(bucket) == Standing(epoch, epoch, epoch - 1)


def test_epochs_that_were_begun_and_never_served_are_empty() -> None:
    o, *others = (Ownership(id) for id in IDS[:3])
    bucket = heir(o, *others)
    tell(o, bucket, others[0])

    tell(o, bucket, *others)

    epoch = o.counters[bucket]
    assert epoch_turn(epoch) == 2
    assert {other.standing(bucket) for other in others} == {Standing(epoch), Standing(epoch, epoch, epoch - 1)}


def test_rival_of_an_epoch_of_ours_that_was_not_served_is_missed_by_who_heard_of_ours_alone() -> None:
    """One was cut off while it told of its epoch; beyond the cut another one began one of the same turn."""
    o, *others = (Ownership(id) for id in IDS[:3])
    bucket = heir(o, *others)
    [follower] = [other for other in others if other.me in o.holders(bucket)]
    tell(o, bucket, follower)
    rival = epoch_after(5, IDS[4])

    o.join_standing(bucket, Standing(rival))
    have_all, since = o.standing(bucket), o.since(bucket)
    tell(o, bucket, *others)

    assert not have_all.lack and since == rival
    assert follower.standing(bucket) == Standing(o.counters[bucket], rival, rival - 1)
    assert all(other.lacks[bucket] for other in others)


def test_rival_that_nobody_has_is_lacking_though_ours_is_not() -> None:
    o, *others = (Ownership(id) for id in IDS[:3])
    bucket = heir(o, *others)
    begin(o, bucket)
    rival = epoch_after(5, IDS[4])

    o.join_standing(bucket, Standing(rival, rival, 5))
    without_it = o.standing(bucket)
    o.join_standing(bucket, Standing(rival))

    assert (without_it.lack, without_it.base) == (rival, rival - 1)
    assert not o.lacks[bucket] and o.since(bucket) == rival


def test_who_was_told_in_vain_knows_of_no_rival_of_what_it_was_told() -> None:
    """Its owner had begun twice in vain, and comes to know only then what another one has served meanwhile."""
    o, *others = (Ownership(id) for id in IDS[:3])
    bucket = heir(o, *others)
    [follower] = [other for other in others if other.me in o.holders(bucket)]
    tell(o, bucket, follower)
    tell(o, bucket, follower)
    rival = epoch_after(5, IDS[4])

    o.join_standing(bucket, Standing(rival))
    tell(o, bucket, follower)

    assert follower.standing(bucket).lack == rival


def test_both_sides_of_a_cut_may_have_served_and_each_is_missed_by_the_other() -> None:
    o, *others = (Ownership(id) for id in IDS[:3])
    bucket = heir(o, *others)
    [follower] = [other for other in others if other.me in o.holders(bucket)]
    tell(o, bucket, follower)
    o.serve({bucket: (ours := o.counters[bucket])})
    beyond, rival = Ownership(IDS[4]), epoch_after(5, IDS[4])
    beyond.recall({bucket: Standing(rival)})

    o.join_standing(bucket, beyond.standing(bucket))
    tell(o, bucket, follower, beyond)

    assert o.rivals(bucket) == {ours, rival} and not o.lacks[bucket]
    assert not following_has(follower, bucket, rival) and following_has(follower, bucket, ours)
    assert not following_has(beyond, bucket, ours) and following_has(beyond, bucket, rival)


def test_who_is_told_of_the_same_rivals_twice_keeps_what_it_had_of_them_when_it_was_told_first() -> None:
    """Its new owner begins in vain after it has named them, and names them with the next epoch once more."""
    o, *others = (Ownership(id) for id in IDS[:3])
    bucket = heir(o, *others)
    [follower] = [other for other in others if other.me in o.holders(bucket)]
    o.serve(begin(o, bucket))
    rival = epoch_after(5, follower.me)
    follower.recall({bucket: Standing(rival)})

    o.join_standing(bucket, follower.standing(bucket))
    tell(o, bucket, follower)
    tell(o, bucket, follower)
    after_two = follower.standing(bucket)
    o.join_standing(bucket, Standing(further := epoch_after(5, IDS[4])))
    tell(o, bucket, follower)

    assert following_has(follower, bucket, rival) and after_two.has(rival)
    assert not following_has(follower, bucket, further)


def following_has(o: Ownership, bucket: int, epoch: int) -> bool:
    return any(before < epoch <= last for before, last in o.standing(bucket).spans)


def test_epoch_that_is_served_is_not_taken_for_an_empty_one() -> None:
    o, *others = (Ownership(id) for id in IDS[:3])
    bucket = heir(o, *others)
    o.serve(begin(o, bucket))
    served = o.counters[bucket]

    tell(o, bucket, *others)

    assert all(other.lacks[bucket] for other in others)
    epoch = o.counters[bucket]
    assert {other.standing(bucket) for other in others} == {Standing(epoch, served, 5), Standing(epoch, epoch, 5)}


def lost_while_claimed(o: Ownership, had: Standing, theirs: Standing) -> int:
    """A bucket that another view takes from us before the first one's members had all let go of it: one had."""
    first, second = members(*IDS[:3]), members(*IDS[:4])
    probe = Ownership(o.me)
    bucket = min(probe.change(first, 1).gained & probe.change(second, 2).lost)
    o.recall({bucket: had})
    o.change(first, 1)
    o.join_standing(bucket, theirs)
    o.released(IDS[1], [bucket])
    assert o.standing(bucket) == theirs
    o.change(second, 2)
    return bucket


def test_what_another_had_of_its_epoch_is_withdrawn_when_its_bucket_goes_elsewhere_before_we_served_it() -> None:
    """It may go on under that epoch, and tell nobody."""
    o, epoch = Ownership(IDS[0]), epoch_after(epoch_after(0, IDS[2]), IDS[1])

    bucket = lost_while_claimed(o, Standing(epoch, epoch), Standing(epoch))

    assert o.standing(bucket) == Standing(epoch, epoch, epoch - 1)
    assert o.withdrawn == {bucket}


def test_what_we_had_of_an_epoch_before_others_let_go_stays_ours() -> None:
    o, epoch = Ownership(IDS[0]), epoch_after(epoch_after(0, IDS[2]), IDS[1])

    bucket = lost_while_claimed(o, Standing(epoch, epoch - 1, 0), Standing(epoch))

    assert o.standing(bucket) == Standing(epoch)


def test_what_another_had_of_a_rival_is_withdrawn_though_ours_has_the_greater_number() -> None:
    o, before = Ownership(IDS[0]), epoch_after(0, IDS[2])
    rival, ours = sorted(epoch_after(before, id) for id in IDS[1:3])
    first, second = members(*IDS[:3]), members(*IDS[:4])
    probe = Ownership(o.me)
    bucket = min(probe.change(first, 1).gained & probe.change(second, 2).lost)
    o.recall({bucket: Standing(ours)})
    o.change(first, 1)

    o.join_standing(bucket, Standing(rival))
    had_both = not o.lacks[bucket]
    o.change(second, 2)

    assert had_both and o.withdrawn == {bucket}
    assert not following_has(o, bucket, rival) and following_has(o, bucket, ours)


def test_who_is_told_of_an_epoch_that_is_served_already_does_not_follow_it() -> None:
    o, *others = (Ownership(id) for id in IDS[:3])
    bucket = heir(o, *others)
    o.serve(begin(o, bucket))

    for other in others:
        other.handed_over({bucket: (o.counters[bucket], o.since(bucket))})

    assert {other.standing(bucket) for other in others} == {Standing(o.counters[bucket], o.counters[bucket], 5)}


def test_who_has_dropped_its_copies_has_nothing_of_the_bucket_any_more() -> None:
    o = Ownership(IDS[0])
    o.recall({3: Standing(5), 4: Standing(6, 6, 5), 5: Standing(0)})

    changed = o.dropped([3, 4, 5])

    assert changed == {3: Standing(5, 5), 4: Standing(6, 6), 5: Standing(1, 1)}
    assert o.standing(3) == Standing(5, 5)


def test_who_leaves_follows_as_long_as_those_that_stay_are_too_few() -> None:
    goer = Ownership(IDS[1])
    seen = [member(IDS[0]), member(IDS[1], leaving=True)]
    goer.recall({3: Standing(5)})

    goer.change(seen, 1)
    goer.handed_over({3: (6, 5)})

    assert goer.followers(3) == (IDS[1],)
    assert goer.standing(3) == Standing(6)


def test_who_leaves_follows_nothing_that_enough_of_those_that_stay_hold() -> None:
    goer = Ownership(IDS[1])
    seen = [member(IDS[0]), member(IDS[1], leaving=True), member(IDS[2])]
    goer.recall({3: Standing(5)})

    goer.change(seen, 1)
    goer.handed_over({3: (6, 5)})

    assert IDS[1] not in goer.followers(3)
    assert goer.standing(3) == Standing(6, 6, 5)
    assert goer.part() == {}


def test_who_is_gone_lacks_what_it_followed_because_too_few_stayed() -> None:
    goer = Ownership(IDS[1])
    goer.recall({3: Standing(6), 4: Standing(7, 6, 5)})
    goer.change([member(IDS[0]), member(IDS[1], leaving=True)], 1)

    changed = goer.part()

    assert changed[3] == goer.standing(3) == Standing(6, 6, 5)
    assert changed[4] == goer.standing(4) == Standing(7, 7, 5)


def test_who_is_gone_lacks_nothing_of_epochs_that_it_began_itself() -> None:
    """It may be the last one that has all of them: who took over may not have pulled that yet."""
    goer = Ownership(IDS[1])
    ready = goer.change([member(IDS[0]), member(IDS[1])], 1).gained
    goer.released(IDS[0], ready)
    goer.serve(goer.succeed(ready))
    before = goer.standings(ready)
    goer.change([member(IDS[0]), member(IDS[1], leaving=True)], 2)

    changed = goer.part()

    assert ready
    assert not changed.keys() & ready
    assert goer.standings(ready) == before


def test_when_all_leave_each_is_a_holder_as_before() -> None:
    goer = Ownership(IDS[1])
    goer.change([member(IDS[0], leaving=True), member(IDS[1], leaving=True)], 1)

    assert {goer.followers(b) for b in owned(goer)} == {(IDS[0],)}
    assert goer.part() == {}


def test_what_came_for_a_bucket_that_its_owner_has_our_word_for_is_left_over_once_more() -> None:
    o = Ownership(IDS[0])
    view(o, members(IDS[0]), 1)
    o.change(members(*IDS[:2]), 2)
    bucket = min(o.left_over)
    o.let_go([bucket])

    o.found([bucket])
    free = o.taken(IDS[1], [bucket])
    o.given_up(free)

    assert free == {bucket}
    assert bucket in o.left_over
    o.let_go([bucket])
    o.given_up(o.taken(IDS[1], [bucket]))
    assert bucket not in o.left_over


def test_what_is_found_of_a_bucket_that_never_was_ours_waits_for_no_further_word_of_its_owner() -> None:
    o = Ownership(IDS[0])
    o.change(members(*IDS[:2]), 1)
    bucket = next(b for b in range(BUCKETS) if o.owner(b) == IDS[1])
    o.let_go([bucket])

    o.found([bucket])

    assert o.left_over == {bucket}


# -- standing still -----------------------------------------------------------------------------


def stood_still(epoch: int = 0) -> tuple[Ownership, frozenset[int]]:
    """Makes one of three that served its buckets, and claims them anew; returns it and these buckets."""
    o = Ownership(IDS[0])
    view(o, members(*IDS[:3]), 1)
    for id in IDS[1:3]:
        let_go(o, id, o.awaited(id))
    return o, o.claim_anew().gained


def known_by(o: Ownership, buckets: Iterable[int], later: int = 0) -> dict[int, Standing]:
    """Returns the standings of somebody who knows our last epoch, or a later one."""
    return {b: Standing(o.counters[b] + later, o.counters[b] + later) for b in buckets}


def test_what_nobody_took_over_is_served_again_without_a_word_of_who_is_silent() -> None:
    o, mine = stood_still()
    silent, awake = IDS[1:3]

    o.vouch(known_by(o, mine))
    before = o.resumable({silent})
    o.released(awake, mine)
    after = o.resumable({silent})
    o.resume(after)

    assert (before, after) == (frozenset(), mine)
    assert all(o.serves(b) for b in mine)
    assert o.awaited(silent) == mine, "what it knows is still asked for"
    assert not o.complete


def test_nothing_is_served_again_while_nobody_vouches_for_it() -> None:
    o, mine = stood_still()

    o.released(IDS[2], mine)

    assert o.resumable({IDS[1]}) == frozenset()
    assert o.resumable(set(IDS[1:3])) == frozenset()


def test_what_somebody_has_served_since_waits_for_all() -> None:
    o, mine = stood_still()
    taken, rest = set(list(mine)[:5]), set(list(mine)[5:])
    theirs = known_by(o, rest) | known_by(o, taken, later=1)

    o.vouch(theirs)
    for bucket, standing in theirs.items():
        o.join_standing(bucket, standing)
    o.released(IDS[2], mine)

    assert o.resumable({IDS[1]}) == rest


@pytest.mark.parametrize("gave_its_word", [False, True])
def test_what_another_had_our_word_for_goes_on_under_another_epoch(gave_its_word: bool) -> None:
    """Who had that may have everything, and have written down so: he dies, and nobody has heard of his epoch."""
    o, (heir, awake, silent) = Ownership(IDS[0]), IDS[1:4]
    rest = members(o.me, awake, silent)
    view(o, rest, 1)
    for id in (awake, silent):
        let_go(o, id, o.awaited(id))
    lost = o.change(members(*IDS[:4]), 2).lost
    epochs = {bucket: o.counters[bucket] for bucket in lost}
    if gave_its_word:
        o.let_go(lost)
    o.change(rest, 3)

    o.vouch(known_by(o, lost))
    o.released(awake, lost)

    assert heir not in o.weights
    assert o.resumable({silent}) == (frozenset() if gave_its_word else lost)
    assert set(o.succeed(o.released(silent, lost))) == lost
    assert all(o.counters[bucket] > epochs[bucket] for bucket in lost)


def test_what_is_served_anew_may_be_vouched_for_again() -> None:
    o = Ownership(IDS[0])
    view(o, members(*IDS[:3]), 1)
    for id in IDS[1:3]:
        let_go(o, id, o.awaited(id))
    lost = o.change(members(*IDS[:4]), 2).lost
    o.let_go(lost)
    o.change(members(*IDS[:3]), 3)
    for id in IDS[1:3]:
        let_go(o, id, o.awaited(id))
    o.claim_anew()

    o.vouch(known_by(o, lost))
    o.released(IDS[2], lost)

    assert o.resumable({IDS[1]}) >= lost


def test_who_knows_no_epoch_of_ours_cannot_vouch() -> None:
    o, mine = stood_still()

    o.vouch({bucket: Standing(0) for bucket in mine})
    o.released(IDS[2], mine)

    assert o.resumable({IDS[1]}) == frozenset()


def test_another_view_or_another_claim_needs_another_word() -> None:
    for again in (lambda o: o.claim_anew(), lambda o: o.change(members(*IDS[:4]), 2)):
        o, mine = stood_still()
        o.vouch(known_by(o, mine))
        again(o)
        for id in IDS[2:4]:
            o.released(id, mine)

        assert o.resumable({IDS[1]}) == frozenset()
