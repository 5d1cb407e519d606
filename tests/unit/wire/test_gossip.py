"""Membership messages as bytes: what is sent arrives, and what is not a message is refused."""

from __future__ import annotations

import random
import sys
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.membership.swim import Membership, MembershipConfig
from p2pcrawl.model.cluster import gossip
from p2pcrawl.model.cluster.node import (
    ADDRESS_CHARS_MAX,
    INCARNATION_MAX,
    Address,
    Member,
    NodeId,
    Status,
    format_address,
    is_address,
    parse_address,
)
from p2pcrawl.model.errors import ConfigurationError, LinkError
from p2pcrawl.wire.messages.gossip import DATAGRAM_MAX, decode_gossip, decode_push_pull, encode_gossip, encode_push_pull
from tests.unit.conftest import Count
from tests.unit.hostile_bytes import damaged

ids = st.binary(min_size=20, max_size=20).map(lambda raw: NodeId(raw.hex()))
boots = st.binary(min_size=8, max_size=8)
incarnations = st.one_of(st.integers(0, INCARNATION_MAX), st.just(INCARNATION_MAX))
seqs = st.integers(0, 0xFFFF_FFFF)
ports = st.integers(1, 65535)
hosts = st.one_of(
    st.sampled_from(["10.0.0.1", "node-1.example.org", "::1", "2001:db8::7"]),
    st.integers(1, 253).map(lambda size: "h" * size),
)
addresses = st.builds(format_address, hosts, ports)
members = st.builds(
    Member,
    id=ids,
    address=addresses,
    incarnation=incarnations,
    status=st.just(Status.ALIVE),
    weight=st.integers(1, 16),
    boot=boots,
    store=st.binary(min_size=16, max_size=16),
    leaving=st.booleans(),
    api=st.one_of(st.just(""), addresses),
)
updates = st.one_of(
    st.builds(gossip.Alive, members),
    st.builds(gossip.Suspect, ids, incarnations, ids),
    st.builds(gossip.Dead, ids, incarnations, ids),
    st.builds(gossip.Left, ids, incarnations),
)
some = st.lists(updates, max_size=4).map(tuple)
messages: st.SearchStrategy[gossip.Message] = st.one_of(
    st.builds(gossip.Ping, seqs, ids, ids, boots, incarnations, some),
    st.builds(gossip.Ack, seqs, ids, boots, incarnations, st.integers(0, 2**64 - 1), st.binary(max_size=200), some),
    st.builds(gossip.PingRequest, seqs, ids, addresses, ids, some),
    st.builds(gossip.Nack, seqs, ids, some),
    st.builds(gossip.Gossip, ids, some),
)
entries = st.builds(
    lambda member, more, status, age: gossip.Entry(
        member, min(INCARNATION_MAX, member.incarnation + more), status, age
    ),
    members,
    st.integers(0, 9),
    st.sampled_from(Status),
    st.floats(0.0, 86400.0),
)
push_pulls = st.builds(gossip.PushPull, ids, boots, st.booleans(), st.lists(entries, max_size=4).map(tuple))


def machine() -> Membership:
    me = Member(NodeId("0" * 40), Address("10.0.0.1:7117"), 1, Status.ALIVE, 4, b"b" * 8, b"s" * 16)
    started = Membership(me, MembershipConfig(), Random(1))
    started.start(0.0)
    return started


@given(messages)
def test_message_survives_the_wire(message: gossip.Message) -> None:
    data = encode_gossip(message)
    if len(data) <= DATAGRAM_MAX:
        assert decode_gossip(data) == message


@given(push_pulls)
def test_push_pull_survives_the_wire(message: gossip.PushPull) -> None:
    assert decode_push_pull(encode_push_pull(message)) == message


@given(messages)
def test_messages_are_never_larger_than_those_who_pack_them_believe(message: gossip.Message) -> None:
    believed = gossip.HEAD_SIZE_MAX + sum(update.size_max for update in message.updates)
    if isinstance(message, gossip.Ack):
        believed += len(message.load)
    if isinstance(message, gossip.PingRequest):
        believed += len(message.address)

    assert len(encode_gossip(message)) <= believed


def test_largest_member_fits_into_a_packet() -> None:
    longest = Address("h" * (ADDRESS_CHARS_MAX - 6) + ":65535")
    most = Member(NodeId("f" * 40), longest, INCARNATION_MAX, Status.ALIVE, 16, b"b" * 8, b"s" * 16, True, longest)

    assert is_address(longest)
    assert gossip.Alive(most).size_max <= gossip.MEMBER_SIZE_MAX
    assert MembershipConfig().message_max >= gossip.MEMBER_SIZE_MAX + gossip.HEAD_SIZE_MAX


def refused(data: bytes) -> bool:
    """Tells whether both parsers refuse; nothing but LinkError may escape either of them."""
    count = 0
    for parse in (decode_gossip, decode_push_pull):
        try:
            parse(data)
        except LinkError:
            count += 1
    return count == 2


@given(st.binary(max_size=1500))
@settings(max_examples=300)
def test_random_bytes_are_refused(data: bytes) -> None:
    refused(data)


@given(st.one_of(messages.map(encode_gossip), push_pulls.map(encode_push_pull)), st.data())
@settings(max_examples=300)
def test_damaged_messages_are_refused_or_harmless(data: bytes, draw: st.DataObject) -> None:
    raw = bytearray(data[:DATAGRAM_MAX])
    for _ in range(draw.draw(st.integers(1, 4))):
        raw[draw.draw(st.integers(0, len(raw) - 1))] = draw.draw(st.integers(0, 255))
    raw = raw[: draw.draw(st.integers(0, len(raw)))]
    listener = machine()
    before = dict(listener.members)

    try:
        message = decode_gossip(bytes(raw))
    except LinkError:
        assert dict(listener.members) == before
    else:
        listener.receive(0.0, Address("10.0.0.2:1"), message)
    try:
        view = decode_push_pull(bytes(raw))
    except LinkError:
        return
    listener.receive_push_pull(0.0, Address("10.0.0.2:1"), view)


ID, BOOT, STORE = b"i" * 20, b"b" * 8, b"s" * 16


def row(**fields: Any) -> list[Any]:
    whole = {
        "id": ID, "address": "h:1", "incarnation": 1, "weight": 1, "boot": BOOT, "store": STORE,
        "leaving": False, "api": "",
    }  # fmt: skip
    return list((whole | fields).values())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([9, ID, []], id="unknown-tag"),
        pytest.param([4, ID], id="too-short"),
        pytest.param([4, b"i" * 19, []], id="short-id"),
        pytest.param([4, ID.decode(), []], id="id-as-text"),
        pytest.param([4, ID, [[3, ID, -1]]], id="negative-incarnation"),
        pytest.param([4, ID, [[3, ID, 2**63]]], id="incarnation-over-the-limit"),
        pytest.param([4, ID, [[3, ID, 1.5]]], id="incarnation-not-whole"),
        pytest.param([4, ID, [[3, ID, 1]] * 65], id="too-many-updates"),
        pytest.param([4, ID, [[0, row(weight=0)]]], id="weight-zero"),
        pytest.param([4, ID, [[0, row(weight=17)]]], id="weight-over-the-limit"),
        pytest.param([4, ID, [[0, row(address="no port")]]], id="bad-address"),
        pytest.param([4, ID, [[0, row(address="h:0")]]], id="port-zero"),
        pytest.param([4, ID, [[0, row(address="h\n:1")]]], id="control-character-in-address"),
        pytest.param([4, ID, [[0, row(address="h" * 300 + ":1")]]], id="long-address"),
        pytest.param([4, ID, [[0, row(api="no port")]]], id="bad-api"),
        pytest.param([1, 1, ID, BOOT, 1, b"8" * 8, b"x" * 201, []], id="load-over-the-limit"),
        pytest.param([2, 1, ID, "http://h:1", ID, []], id="request-for-a-bad-address"),
        pytest.param([3, -1, ID, []], id="negative-seq"),
        pytest.param([ID, BOOT, False, [[row(incarnation=5), 4, 0, 0.0]]], id="verdict-older-than-facts"),
        pytest.param([ID, BOOT, False, [[row(), 1, 4, 0.0]]], id="unknown-status"),
        pytest.param([ID, BOOT, False, [[row(), 1, 2, -1.0]]], id="negative-age"),
        pytest.param([ID, BOOT, False, [[row(), 1, 2, float("nan")]]], id="age-is-not-a-number"),
        pytest.param([ID, BOOT, False, [[row(), 1, 2, float("inf")]]], id="age-is-endless"),
        pytest.param({"seq": 1}, id="map"),
        pytest.param(None, id="nil"),
    ],
)
def test_message_with_a_field_out_of_bounds_is_refused(body: object) -> None:
    assert refused(msgspec.msgpack.encode(body))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x91" * 1400, id="deeply-nested-arrays"),
        pytest.param(b"\x81\xa1a" * 450, id="deeply-nested-maps"),
        pytest.param(b"\x93\x04\xc4\x14" + ID + b"\xdd\xff\xff\xff\xff", id="array-of-four-billion"),
        pytest.param(b"\x93\x04\xc6\xff\xff\xff\xff", id="bytes-of-four-gigabytes"),
        pytest.param(b"\x94\x04\xc4\x14" + ID + b"\x90" + b"\x91" * 1400, id="nested-extra-field"),
        pytest.param(b"\x00" * (DATAGRAM_MAX + 1), id="over-a-datagram"),
        pytest.param(msgspec.msgpack.encode([4, ID, []]) + b"x", id="trailing-byte"),
    ],
)
def test_malformed_bytes_are_refused(data: bytes) -> None:
    assert refused(data)


def check_hostile_rounds(rounds: int, seed: int, count: Count = range) -> None:
    """Damaged messages of every kind: what is still one can be sent again, the rest is refused by LinkError."""
    dice = Random(seed)
    me, other = NodeId("1" * 40), NodeId("2" * 40)
    member = Member(other, Address("10.0.0.1:7117"), 7, Status.ALIVE, 4, b"b" * 8, b"s" * 16, b"\xff" * 20)
    news = (gossip.Alive(member), gossip.Suspect(other, 7, me), gossip.Dead(other, 7, me), gossip.Left(other, 8))
    sound = [
        encode_gossip(gossip.Ping(1, other, me, b"b" * 8, 3, news)),
        encode_gossip(gossip.Ack(1, me, b"b" * 8, 3, 2**60, b"load", news)),
        encode_gossip(gossip.PingRequest(1, other, Address("[::1]:7117"), me, news[:2])),
        encode_gossip(gossip.Nack(1, me, ())),
        encode_gossip(gossip.Gossip(me, news)),
        encode_push_pull(gossip.PushPull(me, b"b" * 8, True, (gossip.Entry(member, 9, Status.DEAD, 5.0),) * 2)),
    ]
    for number in count(rounds):
        data = damaged(dice, dice.choice(sound), DATAGRAM_MAX)
        for parse, again in ((decode_gossip, encode_gossip), (decode_push_pull, encode_push_pull)):
            try:
                message = parse(data)
            except LinkError:
                continue
            assert parse(again(message)) == message, f"seed {seed}, round {number}"


def test_hostile_messages_raise_nothing_but_link_errors() -> None:
    check_hostile_rounds(20_000, seed=1)


@pytest.mark.soak
def test_ten_million_hostile_messages_raise_nothing_but_link_errors(aloud: Count) -> None:
    check_hostile_rounds(10_000_000, random.randrange(sys.maxsize), aloud)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("host:7000", ("host", 7000)),
        ("10.0.0.1:1", ("10.0.0.1", 1)),
        ("[::1]:65535", ("::1", 65535)),
        ("[fe80::1%eth0]:9", ("fe80::1%eth0", 9)),
        (" host ", ("host", 7117)),
        ("[::1]", ("::1", 7117)),
    ],
)
def test_address_is_parsed(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text, 7117) == address


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("host", "host:7117"),
        ("host:0", "1 to 65535"),
        ("host:70000", "1 to 65535"),
        ("::1:7117", "brackets"),
        ("http://host:1", "scheme"),
        ("", "host:port"),
        ("host:port", "host:port"),
        ("a b:1", "host:port"),
        ("h" * 300 + ":1", "host:port"),
    ],
)
def test_bad_address_is_refused_with_advice(text: str, advice: str) -> None:
    with pytest.raises(ConfigurationError, match=advice):
        parse_address(text)


@given(addresses)
def test_written_address_is_parsed_back(address: Address) -> None:
    assert is_address(address)
    assert format_address(*parse_address(address)) == address
