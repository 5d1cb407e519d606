"""Real peers whose links are TLS: a crawl by the slaves of another machine, and strangers that are told why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.overlay.tls import TlsFiles
from tests.certificates import Authority
from tests.cli.conftest import ALLOWED, ENDS_S, until
from tests.cli.peers import Cluster, asked

pytestmark = pytest.mark.slow

SPIDER = """
import os
from p2pcrawl import Spider
class Teller(Spider):
    def parse(self, response):
        yield {"url": response.url, "pid": os.getpid()}
        yield response.follow_all()
"""


def options_of(files: TlsFiles) -> list[str]:
    return ["--tls-cert", str(files.cert), "--tls-key", str(files.key), "--tls-ca", str(files.ca)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master without slaves of its own, and a slave peer with one process."""
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder / "authority")
    with Cluster(folder) as cluster:
        cluster.start("--role", "master", "--slaves", 0, *options_of(authority.files("master")))
        cluster.start("--role", "slave", "--slaves", 1, *options_of(authority.files("slave")))
        yield cluster


def refusal(cluster: Cluster, *arguments: object) -> str:
    process, said = cluster.begin("--slaves", 0, "--join", cluster.peers[0].address, *arguments)
    assert process.wait(ENDS_S) == 2, said.read_text()
    [line] = [line for line in said.read_text().splitlines() if line.startswith("p2pcrawl: ")]
    return line


def test_slave_process_of_another_peer_crawls_for_the_master_over_tls(cluster: Cluster, site: Any) -> None:
    master, slave = cluster.peers
    (cluster.folder / "teller.py").write_text(SPIDER)
    target = [
        "teller.py",
        "-a",
        f"start_urls={site['start']}",
        "-a",
        f"allowed_domains={','.join(site['hosts'])}",
        *ALLOWED,
    ]

    def slaves() -> int:
        [member] = asked(master.api, "status")["members"]
        count: int = member["slaves"]
        return count

    until(lambda: slaves() == 2, "the slave process has come, beside the master's own slave")
    end = cluster.told("submit", *target, "-s", "RETRY_BACKOFF=0.01", "--wait", "-o", "out.jsonl", "--peer", slave.api)
    items = [json.loads(line) for line in (cluster.folder / "out.jsonl").read_text().splitlines()]

    assert end["state"] == "finished"
    assert len({i["url"] for i in items}) == len(items) == end["pages"] == site["pages"]
    assert {i["pid"] for i in items} - {master.process.pid}


@pytest.mark.parametrize("role", ["auto", "master", "slave"])
def test_peer_without_tls_is_refused_with_one_line(cluster: Cluster, role: str) -> None:
    said = refusal(cluster, "--role", role)

    assert f"{cluster.peers[0].address}: the other end speaks TLS, and this peer does not" in said


@pytest.mark.parametrize("role", ["auto", "slave"])
def test_peer_with_certificates_of_another_ca_is_refused_with_one_line(
    cluster: Cluster, tmp_path: Path, role: str
) -> None:
    said = refusal(cluster, "--role", role, *options_of(Authority(tmp_path).files()))

    assert f"{cluster.peers[0].address}: the TLS certificate of the other end is refused: it does not come from" in said
