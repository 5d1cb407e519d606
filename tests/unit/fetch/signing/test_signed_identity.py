"""Signed requests, checked by an independent library and against the vectors of the RFC and the draft."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from base64 import b64encode, urlsafe_b64decode
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import http_sf
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, InvalidSignature, algorithms

from p2pcrawl.fetch.signing.bot_key import BotKey
from p2pcrawl.fetch.signing.key_directory import KeyDirectory, directory_of
from p2pcrawl.fetch.signing.message_signatures import authority_of, byte_sequence, signature_base, signature_params
from p2pcrawl.fetch.signing.signer import HOSTS_MAX, RequestSigner
from p2pcrawl.model.choosing.signature_form import SignatureForm
from p2pcrawl.model.errors import ConfigurationError

RFC_KEY = b"""-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
"""
"""The test key of RFC 9421, appendix B.1.4, that the draft of Web Bot Auth has taken over."""
AGENT = "https://signature-agent.test"


class Keys(HTTPSignatureKeyResolver):  # type: ignore[misc]
    def __init__(self, key: BotKey) -> None:
        self._key = key

    def resolve_public_key(self, key_id: str) -> Any:
        assert key_id == self._key.thumbprint
        return Ed25519PublicKey.from_public_bytes(urlsafe_b64decode(self._key.x + "="))


def verified(key: BotKey, url: str, headers: dict[str, str], method: str = "GET") -> Any:
    """Returns what the library finds signed. Raises its errors."""
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys(key))
    message = SimpleNamespace(method=method, url=url, headers=headers)
    (found,) = verifier.verify(message, max_age=timedelta(days=1))
    return found


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def key() -> BotKey:
    return BotKey.generate()


# -- vectors ------------------------------------------------------------------------------------------


def test_vector_of_the_rfc() -> None:
    components = [
        ('"date"', "Tue, 20 Apr 2021 02:07:55 GMT"),
        ('"@method"', "POST"),
        ('"@path"', "/foo"),
        ('"@authority"', "example.com"),
        ('"content-type"', "application/json"),
        ('"content-length"', "18"),
    ]
    params = signature_params(components, [("created", 1618884473), ("keyid", "test-key-ed25519")])

    signature = byte_sequence(BotKey.from_pem(RFC_KEY).sign(signature_base(components, params)))

    assert params == (
        '("date" "@method" "@path" "@authority" "content-type" "content-length")'
        ';created=1618884473;keyid="test-key-ed25519"'
    )
    assert signature == ":wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:"


def test_vector_of_the_draft_for_bots() -> None:
    key = BotKey.from_pem(RFC_KEY)
    components = [('"@authority"', "example.com"), ('"signature-agent";key="agent2"', f'"{AGENT}"')]
    nonce = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
    parameters: list[tuple[str, int | str]] = [
        ("created", 1735689600),
        ("keyid", key.thumbprint),
        ("alg", "ed25519"),
        ("expires", 4889289600),
        ("nonce", nonce),
        ("tag", "web-bot-auth"),
    ]

    signature = byte_sequence(key.sign(signature_base(components, signature_params(components, parameters))))

    assert key.thumbprint == "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
    assert signature == ":RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:"


def test_vector_of_the_draft_for_directories() -> None:
    body = directory_of([BotKey.from_pem(RFC_KEY)])

    assert b64encode(hashlib.sha256(body).digest()) == b"CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0="


# -- requests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", SignatureForm)
@pytest.mark.parametrize(
    "url", ["https://a.example/x?y", "http://A.Example:80/", "https://a.example:8443/", "http://[::1]:8080/"]
)
def test_request_is_verified_by_an_independent_library(key: BotKey, url: str, form: SignatureForm) -> None:
    headers = RequestSigner(key, AGENT, Clock(), form=form).headers(url)

    found = verified(key, url, headers)

    component = '"signature-agent";key="bot"' if form is SignatureForm.DICTIONARY else '"signature-agent"'
    assert found.covered_components[component] == f'"{AGENT}"'
    assert found.covered_components['"@authority"'] == authority_of(url)
    assert found.parameters["tag"] == "web-bot-auth"
    assert found.parameters["expires"] - found.parameters["created"] == 60


def test_signature_is_worth_nothing_for_another_host(key: BotKey) -> None:
    headers = RequestSigner(key, AGENT, Clock()).headers("https://a.example/")

    with pytest.raises(InvalidSignature):
        verified(key, "https://b.example/", headers)


def test_more_parts_are_signed_where_they_are_wanted(key: BotKey) -> None:
    covers = ("@method", "@path", "@query", "@target-uri", "@scheme", "@request-target")
    signer = RequestSigner(key, AGENT, Clock(), covers=covers, nonce=True)

    one, two = (signer.headers("https://a.example/x?y=1", "POST") for _ in range(2))

    found = verified(key, "https://a.example/x?y=1", one, "POST")
    assert found.covered_components['"@path"'] == "/x"
    assert one["Signature"] != two["Signature"]
    with pytest.raises(InvalidSignature):
        verified(key, "https://a.example/other?y=1", one, "POST")


def test_signature_is_used_for_half_of_its_life(key: BotKey) -> None:
    clock = Clock()
    signer = RequestSigner(key, AGENT, clock, ttl_s=60)
    first = signer.headers("https://a.example/1")

    clock.now += 29
    kept = signer.headers("https://a.example/2")
    clock.now += 2
    anew = signer.headers("https://a.example/3")

    assert kept is first
    assert anew["Signature-Input"] != first["Signature-Input"]


def test_clock_that_is_set_back_makes_a_signature_anew(key: BotKey) -> None:
    clock = Clock()
    signer = RequestSigner(key, AGENT, clock)
    first = signer.headers("https://a.example/")

    clock.now -= 3600

    assert signer.headers("https://a.example/") is not first


def test_signatures_that_are_kept_are_bounded(key: BotKey) -> None:
    signer = RequestSigner(key, AGENT, Clock())
    first = signer.headers("https://first.example/")

    for number in range(HOSTS_MAX):
        signer.headers(f"https://h{number}.example/")

    assert signer.headers("https://first.example/") is not first


def test_host_header_is_what_is_signed(key: BotKey) -> None:
    headers = RequestSigner(key, AGENT, Clock()).headers("http://127.0.0.1:8080/", host="Shop.Example")

    assert verified(key, "http://shop.example/", headers).covered_components['"@authority"'] == "shop.example"


def test_value_that_would_begin_another_line_is_not_signed() -> None:
    with pytest.raises(ValueError, match="one line"):
        signature_base([('"@authority"', 'a\n"@path": /')], "()")


# -- the key and its directory ------------------------------------------------------------------------


def test_key_file_is_for_its_owner_only(key: BotKey, tmp_path: Path) -> None:
    path = tmp_path / "bot.pem"

    assert key.write(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert BotKey.read(path).thumbprint == key.thumbprint
    assert not BotKey.generate().write(path)
    assert key.x not in repr(key)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_key_file_that_others_can_use_is_refused(key: BotKey, tmp_path: Path, mode: int) -> None:
    path = tmp_path / "bot.pem"
    key.write(path)
    os.chmod(path, mode)

    with pytest.raises(ConfigurationError, match="others can"):
        BotKey.read(path)


@pytest.mark.parametrize("content", [b"", b"secret", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_file_that_is_no_key_is_refused_without_its_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bot.pem"
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(ConfigurationError, match=r"keygen --bot") as refused:
        BotKey.read(path)

    assert b"secret" not in str(refused.value).encode()


def test_directory_is_signed_with_each_of_its_keys_for_its_own_authority() -> None:
    keys = [BotKey.generate(), BotKey.generate()]

    body, headers = KeyDirectory(keys, AGENT).answer(Clock()())

    digest = b64encode(hashlib.sha256(body).digest()).decode()
    assert headers["Content-Digest"] == f"sha-256=:{digest}:"
    inputs = http_sf.parse(headers["Signature-Input"].encode(), tltype="dictionary")
    signatures = http_sf.parse(headers["Signature"].encode(), tltype="dictionary")
    for key, label in zip(keys, ("binding1", "binding2"), strict=True):
        params = headers["Signature-Input"].split(f"{label}=")[1].split(", binding")[0]
        base = signature_base(
            [('"@authority";req', "signature-agent.test"), ('"content-digest"', headers["Content-Digest"])], params
        )
        Keys(key).resolve_public_key(inputs[label][1]["keyid"]).verify(signatures[label][0], base)
    assert b'"d"' not in body
