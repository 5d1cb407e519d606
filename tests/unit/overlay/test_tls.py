"""TLS contexts from files and ready-made, and overlay nodes that speak TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop
from cryptography.x509 import ObjectIdentifier
from cryptography.x509.oid import ExtendedKeyUsageOID

from p2pcrawl.model.cluster.node import parse_address
from p2pcrawl.model.errors import ConfigurationError, LinkError
from p2pcrawl.overlay import link
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.overlay.tls import TlsContexts, TlsFiles
from p2pcrawl.wire.messages.ask import Answered
from tests.certificates import Authority
from tests.unit.overlay.nodes import Seen, credentials, node, until


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def with_tls(authority: Authority) -> Credentials:
    return replace(credentials(), tls=authority.files().load())


@contextlib.asynccontextmanager
async def calling(who: Credentials):
    caller = Caller(who.client)
    try:
        async with asyncio.timeout(10):
            yield caller
    finally:
        caller.close()


def refusal_of(files: TlsFiles) -> str:
    with pytest.raises(ConfigurationError) as caught:
        files.load()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- files ------------------------------------------------------------------------------------


def test_files_give_contexts_that_ask_both_ends_for_a_certificate(authority: Authority) -> None:
    contexts = authority.files().load()

    for context in (contexts.server, contexts.client):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3


def test_certificate_and_key_may_share_a_file(authority: Authority) -> None:
    files = authority.files("both")
    files.cert.write_bytes(files.cert.read_bytes() + files.key.read_bytes())
    files.cert.chmod(0o600)

    replace(files, key=files.cert).load()


@pytest.mark.parametrize(("field", "what"), [("cert", "TLS certificate"), ("key", "TLS key"), ("ca", "TLS CA")])
def test_file_that_is_missing_or_holds_something_else_is_named(
    authority: Authority, tmp_path: Path, field: str, what: str
) -> None:
    (tmp_path / "rubbish").write_text("rubbish\n")
    (tmp_path / "rubbish").chmod(0o600)
    files = authority.files()

    missing = refusal_of(replace(files, **{field: tmp_path / "missing"}))
    folder = refusal_of(replace(files, **{field: tmp_path}))
    rubbish = refusal_of(replace(files, **{field: tmp_path / "rubbish"}))

    assert missing == f"cannot read the {what} {tmp_path / 'missing'}: No such file or directory"
    assert folder == f"cannot read the {what} {tmp_path}: Is a directory"
    assert rubbish.startswith(f"the {what} {tmp_path / 'rubbish'} holds no ")


def test_key_that_others_can_read_is_refused(authority: Authority) -> None:
    files = authority.files("open")
    files.key.chmod(0o644)

    assert refusal_of(files) == f"others can read the TLS key {files.key}: chmod 600 it, or make a new one"


def test_key_of_another_certificate_is_refused(authority: Authority) -> None:
    one, other = authority.files("one"), authority.files("other")

    assert (
        refusal_of(replace(one, key=other.key)) == f"the TLS key {other.key} is not that of the certificate {one.cert}"
    )


def test_key_with_a_password_is_refused_and_nobody_is_asked_for_it(authority: Authority) -> None:
    assert "is locked with a password" in refusal_of(authority.files("locked", password=b"secret"))


def test_certificate_that_the_ca_did_not_issue_is_refused(authority: Authority, tmp_path: Path) -> None:
    foreign = Authority(tmp_path).files()

    said = refusal_of(replace(authority.files(), cert=foreign.cert, key=foreign.key))

    where = f"the TLS certificate {foreign.cert} does not go with the CA {authority.file}"
    assert said == f"{where}: it does not come from our CA"


def test_certificate_that_expired_is_refused(authority: Authority) -> None:
    assert refusal_of(authority.files("late", days=-1)).endswith("certificate has expired")


@pytest.mark.parametrize("usage", [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
def test_certificate_for_one_end_of_a_link_alone_is_refused(authority: Authority, usage: ObjectIdentifier) -> None:
    assert "purpose" in refusal_of(authority.files("half", only_for=usage))


def test_ready_made_contexts_that_cannot_serve_are_refused() -> None:
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    with pytest.raises(ConfigurationError, match="set check_hostname to False"):
        TlsContexts(server, client)
    client.check_hostname = False
    TlsContexts(server, client)
    with pytest.raises(ConfigurationError, match="PROTOCOL_TLS_SERVER"):
        TlsContexts(client, client)
    with pytest.raises(ConfigurationError, match="PROTOCOL_TLS_CLIENT"):
        TlsContexts(server, server)


# -- nodes ------------------------------------------------------------------------------------


async def test_nodes_with_tls_join_and_answer_calls(authority: Authority) -> None:
    seen = Seen()
    async with node(with_tls(authority), seen=seen) as one, node(with_tls(authority), join=(one.address,)) as two:
        await until(lambda: len(one.members()) == len(two.members()) == 2)
        async with calling(with_tls(authority)) as caller:
            assert await caller.query(one.address, "ask:anything") == b"{}"

        assert [request.what for request in seen.requests] == ["ask:anything"]


def test_tls_is_the_same_on_uvloop(authority: Authority) -> None:
    async def call() -> bytes:
        async with node(with_tls(authority)) as one, calling(with_tls(authority)) as caller:
            return await caller.query(one.address, "ask:anything")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(call()) == b"{}"


async def test_large_answer_comes_through_tls_whole(authority: Authority) -> None:
    seen = Seen()
    seen.answer = lambda request: Answered(0, b"x" * 3_000_000)
    async with node(with_tls(authority), seen=seen) as one, calling(with_tls(authority)) as caller:
        assert await caller.query(one.address, "ask:much") == b"x" * 3_000_000


async def test_plain_caller_is_told_that_the_peer_speaks_tls(authority: Authority) -> None:
    async with node(with_tls(authority)) as one, calling(credentials()) as caller:
        with pytest.raises(LinkError, match="the other end speaks TLS, and this peer does not"):
            await caller.query(one.address, "ask:anything")
        await until(lambda: one.counters()["links"]["open"] == 0)


async def test_caller_with_tls_is_told_that_the_peer_is_plain(authority: Authority) -> None:
    async with node() as one, calling(with_tls(authority)) as caller:
        with pytest.raises(LinkError, match="seems to run without TLS"):
            await caller.query(one.address, "ask:anything")
        await until(lambda: one.counters()["links"]["open"] == 0)


async def test_caller_of_another_ca_is_refused_and_forgotten(authority: Authority, tmp_path: Path) -> None:
    async with node(with_tls(authority)) as one, calling(with_tls(Authority(tmp_path))) as caller:
        with pytest.raises(LinkError, match="the TLS certificate of the other end is refused"):
            await caller.query(one.address, "ask:anything")
        await until(lambda: one.counters()["links"]["open"] == 0)


async def test_server_that_says_nothing_to_a_tls_hello_is_given_up(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "HANDSHAKE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with calling(with_tls(authority)) as caller:
            with pytest.raises(LinkError, match="did not introduce itself in time"):
                await caller.query(f"127.0.0.1:{silent.getsockname()[1]}", "ask:anything")


async def test_strangers_that_leave_in_the_tls_handshake_are_forgotten(authority: Authority) -> None:
    async with node(with_tls(authority)) as one:
        host, port = parse_address(one.address)
        for data in (
            b"",
            b"\x16",
            with_tls(authority).client().begin(),
            b"\x16\x03\x01\x40\x00" + bytes(9000),
            b"p2pC",
        ):
            _, writer = await asyncio.open_connection(host, port)
            writer.write(data)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        await until(lambda: one.counters()["links"]["open"] == 0)

        async with calling(with_tls(authority)) as caller:
            assert await caller.query(one.address, "ask:anything") == b"{}"
