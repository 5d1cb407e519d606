"""Whole peers whose links are TLS."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.overlay.tls import TlsFiles
from p2pcrawl.peer.config import PeerConfig, Role
from p2pcrawl.peer.peer import Peer
from tests.certificates import Authority
from tests.unit.peer.test_peer import PAGES, peer, site_of, spider

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient", "own_folders"),
]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def fields_of(files: TlsFiles) -> dict[str, Any]:
    return {f"tls_{name}": str(path) for name, path in asdict(files).items()}


async def test_peers_with_certificates_crawl_together_and_each_page_comes_once(
    tmp_path: Path, authority: Authority
) -> None:
    """One has its TLS from files, the other from whoever embeds it."""
    ready = authority.files("two").load()
    async with (
        site_of() as site,
        peer(**fields_of(authority.files("one"))) as one,
        peer(one.address, tls=ready) as two,
        asyncio.timeout(30),
    ):
        job = await two.submit(spider(tmp_path, site))
        end = await job.wait()

        assert end["conserved"]
        assert end["pages"] == PAGES
        assert len(site.visits) == PAGES and max(site.visits.values()) == 1
        assert len({m["id"] for m in (await one.ask("status", {}))["members"]}) == 2


async def test_peer_that_does_not_fit_is_told_why_at_once(tmp_path: Path, authority: Authority) -> None:
    other = fields_of(Authority(tmp_path / "other").files())
    async with peer(**fields_of(authority.files())) as one:
        for fields, said in (({}, "the other end speaks TLS"), (other, "it does not come from our CA")):
            with pytest.raises(ConfigurationError, match=said) as error:
                async with asyncio.timeout(10), peer(one.address, **fields):
                    pass
            assert str(error.value).startswith(one.address) and "\n" not in str(error.value)


async def test_peer_with_certificates_is_told_that_the_cluster_has_none(authority: Authority) -> None:
    async with peer() as plain:
        with pytest.raises(ConfigurationError, match="seems to run without TLS"):
            async with asyncio.timeout(10), peer(plain.address, **fields_of(authority.files())):
                pass


async def test_files_that_cannot_be_used_are_told_before_anything_binds(tmp_path: Path, authority: Authority) -> None:
    files = authority.files()
    files.key.unlink()
    data = tmp_path / "data"

    with pytest.raises(ConfigurationError, match="cannot read the TLS key"):
        async with peer(data=data, **fields_of(files)):
            pass

    assert not data.exists()


def test_part_of_the_files_is_refused_and_the_rest_named() -> None:
    with pytest.raises(ConfigurationError, match="add --tls-key and --tls-ca"):
        PeerConfig(tls_cert=Path("cert.pem")).validate()


def test_contexts_beside_files_are_refused(authority: Authority) -> None:
    files = authority.files()

    with pytest.raises(ConfigurationError, match="either as contexts or as files"):
        Peer(role="master", tls=files.load(), **fields_of(files))


@pytest.mark.parametrize("role", [Role.AUTO, Role.SLAVE])
def test_contexts_that_slave_processes_could_not_use_are_refused(authority: Authority, role: Role) -> None:
    with pytest.raises(ConfigurationError, match="cannot be handed to slave processes"):
        Peer(role=role, join=["127.0.0.1:1"], tls=authority.files().load())
