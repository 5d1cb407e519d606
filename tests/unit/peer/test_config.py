"""What a peer is told when it starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from p2pcrawl.model.cluster.placement import RingName
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.peer import config
from p2pcrawl.peer.config import CHOICES, Partition, PeerConfig, Role, chosen, is_loopback, key_ring
from p2pcrawl.peer.peer import Peer
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.wire.sealed.keys import KEY_VARIABLE, generate_key


@pytest.mark.parametrize(
    "fields",
    [
        {"weight": 0}, {"weight": 17}, {"slaves": -1}, {"role": Role.SLAVE}, {"masters": 0}, {"copies": 0},
        {"cluster": "x" * 1000}, {"ring": RingName.MODULO, "weight": 2}, {"cluster": "mine (modulo ring)"},
        {"cluster": "mine (majority)"},
        {"advertise": "nonsense:nonsense"},
    ],
)  # fmt: skip
def test_what_cannot_work_is_one_clear_line(fields: dict) -> None:
    with pytest.raises(ConfigurationError) as error:
        PeerConfig(**fields).validate()
    assert "\n" not in str(error.value)


def test_times_that_break_a_safety_argument_let_no_peer_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "TIMINGS", replace(TIMINGS, suspicion_min_s=3.0))

    with pytest.raises(ConfigurationError, match=r"suspicion_min_s \(3\) must be longer than void_s \(5.1\)"):
        PeerConfig().validate()


def test_peers_of_different_rings_are_of_different_clusters() -> None:
    realms = [PeerConfig(cluster="mine", ring=ring).realm for ring in RingName]

    assert realms == ["mine", "mine (modulo ring)", "mine (two-level ring)"]


def test_peers_that_would_not_agree_on_who_goes_on_in_a_divided_network_are_of_different_clusters() -> None:
    realms = [
        PeerConfig(cluster="mine", partition=partition, ring=ring).realm
        for partition in Partition
        for ring in (RingName.RENDEZVOUS, RingName.MODULO)
    ]

    assert len({*realms}) == 4
    assert realms[0] == "mine" and "mine (majority)" in realms


@pytest.mark.parametrize("name", CHOICES)
def test_choice_that_there_is_not_is_answered_with_those_that_there_are(name: str) -> None:
    values = [value.value for value in CHOICES[name]]

    with pytest.raises(ConfigurationError) as error:
        chosen(name, "nonsense")

    assert str(error.value) == f"a peer's {name} is {', '.join(values[:-1])} or {values[-1]}, not 'nonsense'"
    assert [chosen(name, value) for value in values] == list(CHOICES[name])


def test_off_loopback_a_key_is_needed_and_keygen_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(KEY_VARIABLE, raising=False)

    with pytest.raises(ConfigurationError, match="keygen"):
        key_ring(PeerConfig(), off_loopback=True)


def test_on_loopback_a_key_is_made_that_nobody_else_can_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(KEY_VARIABLE, raising=False)

    ring = key_ring(PeerConfig(), off_loopback=False)

    [file] = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert file.stat().st_mode & 0o077 == 0
    assert key_ring(PeerConfig(), off_loopback=True).ids == ring.ids


def test_key_in_the_environment_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv(KEY_VARIABLE, generate_key())

    assert key_ring(PeerConfig(), off_loopback=True).ids


@pytest.mark.parametrize("text", ["", "nonsense", "AAAA", "\x00"])
def test_bad_key_file_is_one_clear_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ConfigurationError) as error:
        key_ring(PeerConfig(key_file=path), off_loopback=True)
    assert "\n" not in str(error.value)


def test_folder_for_raw_pages_may_be_told_by_its_name(tmp_path: Path) -> None:
    assert Peer(warc=str(tmp_path)).config.warc == Peer(warc=WarcPlace(tmp_path)).config.warc == WarcPlace(tmp_path)


def test_loopback_is_told_from_the_rest() -> None:
    assert all(is_loopback(h) for h in ("localhost", "127.0.0.1", "127.9.9.9", "::1"))
    assert not any(is_loopback(h) for h in ("10.0.0.1", "example.com", "0.0.0.0", "::", ""))
