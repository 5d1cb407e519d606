"""No crawl reads the ports of peers, by whatever spelling, though everything else on this machine is open to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.peers import Cluster

pytestmark = pytest.mark.slow

SPELLINGS = ("127.0.0.1", "localhost", "[::1]", "127.0.0.2", "[::ffff:127.0.0.1]")
SPIDER = """
from p2pcrawl import Spider
class Prowler(Spider):
    name = "prowler"
    start_urls = ["{start}"]
    custom_settings = {{"ALLOW_PRIVATE_NETWORKS": True, "RETRY_ENABLED": False, "ROBOTSTXT_OBEY": False}}
    def parse(self, response):
        yield {{"url": response.url, "text": response.text[:200]}}
        yield response.follow_all()
"""


@contextmanager
def site_with(links: list[str]) -> Iterator[str]:
    body = "".join(f'<a href="{link}">' for link in ["/own", *links]).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("how", ["slaves of a master", "slaves of another peer", "crawl beside a cluster"])
def test_ports_of_peers_are_closed_to(how: str, tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        afar = how == "slaves of another peer"
        master = cluster.start("--role", "master", "--slaves", 0 if how == "crawl beside a cluster" else 1)
        helper = cluster.start("--role", "slave", "--slaves", 2 if afar else 0)
        if afar:
            # All that it does for the crawl, it does for a master that knows nothing of its API.
            assert helper.api not in json.dumps(cluster.told("status", "--peer", master.api)["members"])
        ports = [address.rpartition(":")[2] for address in (master.api, master.address, helper.api)]
        links = [f"http://{host}:{port}/status" for port in ports for host in SPELLINGS]

        with site_with(links) as start:
            (tmp_path / "prowler.py").write_text(SPIDER.format(start=start))
            if how == "crawl beside a cluster":
                result = cluster.run("crawl", "prowler.py", "--slaves", 1, "-o", "out.jsonl", "--json")
                assert result.returncode == 0, result.stderr
                certificate = json.loads(result.stdout)
            else:
                certificate = cluster.told("submit", "prowler.py", "--wait", "-o", "out.jsonl", "--peer", master.api)

    found = [json.loads(line)["url"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(found) == [start, f"{start}own"]
    assert certificate["dropped_by_reason"] == {"private-network": len(ports) * len(SPELLINGS)}, certificate
