"""Who may change anything: the token, said or signed with."""

from __future__ import annotations

import hmac
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.api.tokens import NONCE_S, Doorkeeper, authorization, body_digest, load_or_make_token

TOKEN = "3f" * 32


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("token", ["", " ", "0" * 63, "0" * 65, "G" * 64, TOKEN.upper() + "x", "\n" + "0" * 63])
def test_nothing_but_a_token_is_ever_expected(token: str) -> None:
    with pytest.raises(ValueError, match="64 hex digits"):
        Doorkeeper(token)


def test_token_itself_opens_and_everything_else_does_not() -> None:
    door = Doorkeeper(TOKEN)

    assert door.admits(f"Bearer {TOKEN}", "POST", "/submit") == ""
    assert door.admits(f"bearer {TOKEN}", "POST", "/submit") == ""
    near = (f"Bearer  {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}0", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN} ")
    for said in ("", "Bearer", "Bearer ", *near, "Bearer \udcff", "Bearer \ud800", "Bearer \u00fc", "P2PCrawl   "):
        assert door.admits(said, "POST", "/submit") is None, said


@given(st.text(st.characters(), max_size=300))
def test_no_header_makes_it_raise_or_opens(said: str) -> None:
    door = Doorkeeper(TOKEN)

    for header in (said, f"Bearer {said}", f"P2PCrawl {said}", f"P2PCrawl {door.nonce()} {said} {said}"):
        assert door.admits(header, "POST", "/submit") is None


def test_signed_call_is_admitted_once_and_for_its_body_alone() -> None:
    door = Doorkeeper(TOKEN)
    said = authorization(TOKEN, door.nonce(), "POST", "/pause?job=3", b"{}")

    assert TOKEN not in said
    assert door.admits(said, "POST", "/pause?job=3") == body_digest(b"{}")
    assert door.admits(said, "POST", "/pause?job=3") is None


@pytest.mark.parametrize("digest", ["", "0", "A" * 64, "a" * 65])
def test_signature_of_what_is_no_digest_leaves_no_body_open(digest: str) -> None:
    # "" stands for whatever body there is, which only the token itself allows.
    door = Doorkeeper(TOKEN)
    nonce = door.nonce()
    signed = "\0".join(("p2pcrawl api 1", nonce, "POST", "/drain", digest)).encode()
    said = f"P2PCrawl {nonce} {digest} {hmac.digest(TOKEN.encode(), signed, 'sha256').hex()}"

    assert door.admits(said, "POST", "/drain") is None


@pytest.mark.parametrize(
    ("method", "target"), [("POST", "/pause?job=4"), ("PUT", "/pause?job=3"), ("POST", "/cancel?job=3")]
)
def test_signature_is_good_for_no_other_call(method: str, target: str) -> None:
    door = Doorkeeper(TOKEN)
    said = authorization(TOKEN, door.nonce(), "POST", "/pause?job=3", b"{}")

    assert door.admits(said, method, target) is None
    assert door.admits(said, "POST", "/pause?job=3") is not None


def test_signature_cannot_be_moved_to_another_body() -> None:
    door = Doorkeeper(TOKEN)
    scheme, nonce, _, signed = authorization(TOKEN, door.nonce(), "POST", "/submit", b"{}").split()

    assert door.admits(f"{scheme} {nonce} {body_digest(b'other')} {signed}", "POST", "/submit") is None


def test_nonce_of_another_process_or_of_long_ago_or_invented_is_refused() -> None:
    clock = Clock()
    door, other = Doorkeeper(TOKEN, clock), Doorkeeper(TOKEN, clock)

    def admits(nonce: str) -> bool:
        return door.admits(authorization(TOKEN, nonce, "POST", "/x", b""), "POST", "/x") is not None

    old, fresh = door.nonce(), door.nonce()
    assert not admits(other.nonce())
    assert not admits("0" * 80)
    assert not admits(old[:16] + "f" * 16 + old[32:])
    assert admits(fresh)
    clock.now += NONCE_S + 1
    assert not admits(old)
    assert not admits(fresh)


def test_who_has_not_the_token_uses_no_nonce_up() -> None:
    door = Doorkeeper(TOKEN)
    nonce = door.nonce()

    assert door.admits(authorization("0" * 64, nonce, "POST", "/x", b""), "POST", "/x") is None
    assert door.admits(authorization(TOKEN, nonce, "POST", "/x", b""), "POST", "/x") is not None


def test_token_is_made_once(tmp_path: Path) -> None:
    token = load_or_make_token(tmp_path)

    assert load_or_make_token(tmp_path) == token
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


def test_token_file_that_a_full_disk_left_empty_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "token").touch(0o600)

    with pytest.raises(ConfigurationError, match=r"is no token file.*remove it"):
        load_or_make_token(tmp_path)
