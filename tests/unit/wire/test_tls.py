"""Sealed streams inside TLS: two ends joined by a wire, and ends that do not fit together."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.model.errors import CopiedIdentity, LinkError
from p2pcrawl.overlay.tls import TlsContexts
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import KeyRing
from p2pcrawl.wire.sealed.streams import RECORD_MAX, StreamSeal
from p2pcrawl.wire.sealed.tls import Seal, TlsStream
from tests.certificates import Authority

KEY = os.urandom(32)
ALICE, BOB = Identity.generate(), Identity.generate()


def inside(server: bool, key: bytes = KEY, identity: Identity | None = None) -> StreamSeal:
    if server:
        return StreamSeal.server(KeyRing([key]), identity or BOB, b"bob....1")
    return StreamSeal.client(KeyRing([key]), identity or ALICE, b"alice..1")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def contexts(authority: Authority) -> TlsContexts:
    return authority.files().load()


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> TlsContexts:
    """Makes the contexts of another CA."""
    return Authority(tmp_path_factory.mktemp("strangers")).files().load()


def pair(contexts: TlsContexts) -> tuple[TlsStream, TlsStream]:
    near, far = TlsStream.client(contexts.client, inside(False)), TlsStream.server(contexts.server, inside(True))
    shake(near, far)
    return near, far


def shake(near: Seal, far: Seal, step: int | None = None) -> list[str]:
    """Carries both handshakes till nothing more is said, ``step`` bytes at a time; what each end complained of."""
    complaints: list[str] = []
    data, to, other = near.begin(), far, near
    while data:
        try:
            for start in range(0, len(data), step or len(data)):
                to.receive(data[start : start + (step or len(data))])
        except LinkError as error:
            complaints.append(str(error))
        data, to, other = to.take_output(), other, to
    return complaints


def failure_of(act: Callable[[], object]) -> str:
    with pytest.raises(LinkError) as caught:
        act()
    return str(caught.value)


def test_both_ends_know_each_other_by_node_id_as_without_tls(contexts: TlsContexts) -> None:
    near, far = pair(contexts)

    assert near.established and far.established
    assert near.peer == (BOB.node_id, b"bob....1", BOB.public_key)
    assert far.peer == (ALICE.node_id, b"alice..1", ALICE.public_key)


def test_handshakes_survive_being_cut_into_single_bytes(contexts: TlsContexts) -> None:
    near, far = TlsStream.client(contexts.client, inside(False)), TlsStream.server(contexts.server, inside(True))

    assert shake(near, far, step=1) == []

    assert near.established and far.established


def test_only_tls_is_seen_on_the_way(contexts: TlsContexts) -> None:
    near, far = TlsStream.client(contexts.client, inside(False)), TlsStream.server(contexts.server, inside(True))
    wire, data, to, other = b"", near.begin(), far, near
    while data:
        wire += data
        to.receive(data)
        data, to, other = to.take_output(), other, to
    wire += near.send(b"secret")

    assert b"p2pC" not in wire and b"secret" not in wire
    assert wire[:2] == b"\x16\x03"


@given(
    messages=st.lists(st.binary(max_size=300), max_size=8),
    cuts=st.lists(st.integers(1, 200), min_size=1, max_size=20),
)
@settings(max_examples=40, deadline=None)
def test_what_is_sent_arrives_however_the_bytes_are_cut(
    contexts: TlsContexts, messages: list[bytes], cuts: list[int]
) -> None:
    near, far = pair(contexts)
    data = b"".join(near.send(message) for message in messages) + near.finish()
    arrived, start, turn = b"", 0, 0
    while start < len(data):
        cut = cuts[turn % len(cuts)]
        arrived += b"".join(far.receive(data[start : start + cut]))
        start, turn = start + cut, turn + 1

    assert arrived == b"".join(messages)
    assert far.ended
    far.eof()


@pytest.mark.parametrize("size", [1, RECORD_MAX, 3 * RECORD_MAX + 7])
def test_long_data_travels_whole(contexts: TlsContexts, size: int) -> None:
    near, far = pair(contexts)
    data = os.urandom(size)

    assert b"".join(far.receive(near.send(data))) == data
    assert b"".join(near.receive(far.send(data))) == data


def test_certificate_of_another_ca_is_refused_by_the_client(contexts: TlsContexts, strangers: TlsContexts) -> None:
    near, far = TlsStream.client(contexts.client, inside(False)), TlsStream.server(strangers.server, inside(True))

    mine, theirs = shake(near, far)

    assert mine == "the TLS certificate of the other end is refused: it does not come from our CA"
    assert theirs == "the other end refuses our TLS certificate: unknown ca"
    assert not near.established and not far.established


def test_certificate_of_another_ca_is_refused_by_the_server(authority: Authority, strangers: TlsContexts) -> None:
    """A client that trusts the server, with a certificate that the server does not trust."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(authority.file)
    other = Authority(authority.folder / "other").files()
    client.load_cert_chain(other.cert, other.key)
    near = TlsStream.client(client, inside(False))
    far = TlsStream.server(authority.files().load().server, inside(True))

    theirs, mine = shake(near, far)

    assert "the TLS certificate of the other end is refused" in theirs
    assert mine == "the other end refuses our TLS certificate: unknown ca"
    assert not near.established and not far.established


def test_client_without_a_certificate_is_refused(authority: Authority, contexts: TlsContexts) -> None:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(authority.file)
    near, far = TlsStream.client(client, inside(False)), TlsStream.server(contexts.server, inside(True))

    _, mine = shake(near, far)

    assert mine == "the other end refuses our TLS certificate: certificate required"
    assert not far.established


@pytest.mark.parametrize("older", ["client", "server"])
def test_older_version_of_tls_is_refused(authority: Authority, contexts: TlsContexts, older: str) -> None:
    context, files = (
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if older == "client" else ssl.PROTOCOL_TLS_SERVER),
        authority.files(),
    )
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(files.ca)
    context.load_cert_chain(files.cert, files.key)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    client, server = (context, contexts.server) if older == "client" else (contexts.client, context)
    near, far = TlsStream.client(client, inside(False)), TlsStream.server(server, inside(True))

    complaints = shake(near, far)

    assert complaints
    assert not near.established and not far.established


def test_member_with_certificate_and_cluster_key_is_not_taken_for_another(contexts: TlsContexts) -> None:
    # TLS lets it in, as whoever has a certificate of the CA: who it is, is for the seal inside to prove.
    alice = StreamSeal.client(KeyRing([KEY]), ALICE, b"alice..1", expect=BOB.node_id)
    near = TlsStream.client(contexts.client, alice)
    between = TlsStream.server(contexts.server, inside(True, identity=Identity.generate()))

    [complaint] = shake(near, between)

    assert f"not {BOB.node_id}" in complaint
    assert near.peer is None and between.peer is None


def test_seal_inside_still_refuses_another_cluster_key_and_says_so(contexts: TlsContexts) -> None:
    near = TlsStream.client(contexts.client, inside(False, os.urandom(32)))
    far = TlsStream.server(contexts.server, inside(True))

    theirs, mine = shake(near, far)

    assert "which is not in our ring" in theirs
    assert "ours" in mine and "is not in its ring" in mine


def test_seal_inside_still_finds_its_own_node(contexts: TlsContexts) -> None:
    near = TlsStream.client(contexts.client, inside(False, identity=BOB))
    far = TlsStream.server(contexts.server, inside(True))
    far.receive(near.begin())
    near.receive(far.take_output())
    far.receive(near.take_output())

    with pytest.raises(CopiedIdentity):
        near.receive(far.take_output())


def test_plain_client_learns_that_tls_is_spoken(contexts: TlsContexts) -> None:
    near, far = inside(False), TlsStream.server(contexts.server, inside(True))

    theirs, mine = shake(near, far)

    assert theirs == "the other end does not speak TLS, and this peer does: start both with it, or both without"
    assert mine == "the other end speaks TLS, and this peer does not: start both with it, or both without"


def test_plain_server_tells_a_tls_hello_apart_and_is_told_apart_by_its_silence(contexts: TlsContexts) -> None:
    near, far = TlsStream.client(contexts.client, inside(False)), inside(True)

    assert shake(near, far) == ["the other end speaks TLS, and this peer does not: start both with it, or both without"]
    assert "it seems to run without TLS" in failure_of(near.eof)


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\x80", b"p2p", bytes(1000)])
def test_stranger_that_speaks_no_tls_is_told_nothing(contexts: TlsContexts, data: bytes) -> None:
    far = TlsStream.server(contexts.server, inside(True))

    assert "does not speak TLS" in failure_of(lambda: far.receive(data))
    assert far.take_output() == b""


def test_rubbish_never_raises_anything_but_a_link_error(contexts: TlsContexts) -> None:
    dice = Random(7)
    hello = TlsStream.client(contexts.client, inside(False)).begin()
    for _ in range(2000):
        far = TlsStream.server(contexts.server, inside(True))
        data = bytearray(hello)
        for _ in range(dice.randint(0, 3)):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        data = data[: dice.randint(1, len(data))] + dice.randbytes(dice.choice((0, 0, 5, 300)))
        try:
            far.receive(bytes(data))
            far.take_output()
            far.receive(dice.randbytes(dice.randint(1, 3000)))
        except LinkError:
            assert "failed before" in failure_of(lambda far=far: far.receive(b"x"))
        assert not far.established


def test_changed_record_ends_an_open_stream(contexts: TlsContexts) -> None:
    near, far = pair(contexts)
    record = bytearray(near.send(b"hello"))
    record[-1] ^= 1

    assert "broken TLS" in failure_of(lambda: far.receive(bytes(record)))
    assert far.finish() == b""


def test_end_without_a_last_record_is_a_cut(contexts: TlsContexts) -> None:
    near, far = pair(contexts)
    far.receive(near.send(b"hello"))

    assert "the link was cut" in failure_of(far.eof)


def test_bytes_after_the_last_record_are_refused(contexts: TlsContexts) -> None:
    near, far = pair(contexts)
    far.receive(near.finish())

    assert "went on after its last record" in failure_of(lambda: far.receive(b"\x17\x03\x03\x00\x01x"))


def test_end_in_the_middle_of_the_handshake_is_told(contexts: TlsContexts) -> None:
    near, far = TlsStream.client(contexts.client, inside(False)), TlsStream.server(contexts.server, inside(True))
    far.receive(near.begin())
    near.receive(far.take_output()[:50])

    assert "went away during the handshake" in failure_of(near.eof)
    assert "went away during the handshake" in failure_of(far.eof)


def test_certificate_that_expired_is_refused_with_the_reason(authority: Authority, contexts: TlsContexts) -> None:
    late = authority.files("late", days=-1)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(late.cert, late.key)
    near, far = TlsStream.client(contexts.client, inside(False)), TlsStream.server(server, inside(True))

    mine, theirs = shake(near, far)

    assert mine == "the TLS certificate of the other end is refused: certificate has expired"
    assert theirs == "the other end refuses our TLS certificate: certificate expired"
