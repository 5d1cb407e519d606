"""A pool of proxies of all kinds beside one of good ones only: ``python -m benchmarks.proxies``.

The proxies are of this machine and know the site by heart: what they are asked for they answer themselves, so that
their number costs little. *Good* ones take their time, as the web does; *slow* ones ten times as long; *dead* ones
listen nowhere; *lying* ones answer with something else; *blocking* ones are kept out by each host after two pages.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import Claims, items_of
from benchmarks.kit.parent import ends_with_us

AT_LEAST = 0.80
"""Of the pages per minute through good proxies alone."""
BLOCKS_AFTER = 2
"""Pages of a host: so few that it happens in a short crawl."""
CHECK = "http://127.0.0.10/check"


@dataclass(frozen=True)
class Kinds:
    """The number of proxies of each kind."""

    good: int = 0
    slow: int = 0
    dead: int = 0
    lying: int = 0
    blocking: int = 0


class MadeUpProxy:
    """A proxy that answers itself for ``hosts`` sites with ``pages`` pages each. ``asked`` counts by host."""

    def __init__(self, kind: str, latency_s: float, hosts: int, pages: int) -> None:
        self._kind, self._latency_s, self._hosts, self._pages = kind, latency_s, hosts, pages
        self.asked: Counter[str] = Counter()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                target = head.split(b" ", 2)[1].decode()
                await asyncio.sleep(self._latency_s)
                status, body = self._answer(target)
                line = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(line.encode() + body)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _answer(self, target: str) -> tuple[str, bytes]:
        host, _, path = target.removeprefix("http://").partition("/")
        if self._kind == "lying":
            return "200 OK", b"<title>buy this</title>"
        if path == "check":
            return "200 OK", b"the truth"
        if path == "robots.txt":
            return "404 Not Found", b""
        self.asked[host] += 1
        if self._kind == "blocking" and self.asked[host] > BLOCKS_AFTER:
            return "403 Forbidden", b"<title>not you</title>"
        return "200 OK", self._page(host, path)

    def _page(self, host: str, path: str) -> bytes:
        number = int(path or 0)
        links = range(1, self._pages) if number == 0 else ()
        listed = "".join(f'<a href="/{n}">{n}</a>' for n in links)
        return f"<title>{host} {number}</title>{listed}".encode()


async def _serve(kinds: Kinds, latency_s: float, hosts: int, pages: int) -> None:
    """Serves the proxies of these kinds, tells their addresses in a line, and then goes on for ever."""
    ports: list[int] = []
    for kind in ("good", "slow", "lying", "blocking"):
        for _ in range(getattr(kinds, kind)):
            proxy = MadeUpProxy(kind, latency_s * (10 if kind == "slow" else 1), hosts, pages)
            server = await asyncio.start_server(proxy.talk, "127.0.0.1", 0)
            ports.append(server.sockets[0].getsockname()[1])
    held = []
    for _ in range(kinds.dead):
        # Bound and not listening: nobody else can answer there.
        held.append(socket.socket())
        held[-1].bind(("127.0.0.1", 0))
        ports.append(held[-1].getsockname()[1])
    print(json.dumps(ports), flush=True)
    await asyncio.Event().wait()


class ServedProxies:
    """The proxies in a process of their own, while the context is open; ``ports`` are where they listen."""

    def __init__(self, kinds: Kinds, latency_s: float, hosts: int, pages: int) -> None:
        counts = [f"--{name}={count}" for name, count in vars(kinds).items()]
        command = [sys.executable, "-m", "benchmarks.proxies", "--serve", *counts]
        command += [f"--latency={latency_s}", f"--hosts={hosts}", f"--pages={pages}"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_us())
        assert self._process.stdout is not None
        self.ports: list[int] = json.loads(self._process.stdout.readline())

    def __enter__(self) -> ServedProxies:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def crawl_through(
    folder: Path, kinds: Kinds, *, latency_s: float = 0.25, hosts: int = 20, pages: int = 100
) -> dict[str, Any]:
    """Crawls all pages through proxies of these kinds; returns seconds, the items and the certificate."""
    folder.mkdir(parents=True)
    with ServedProxies(kinds, latency_s, hosts, pages) as served:
        (folder / "proxies.txt").write_text("".join(f"127.0.0.1:{port}\n" for port in served.ports))
        urls = [f"http://127.0.0.{n + 10}/0" for n in range(hosts)]
        settings = {
            "PROXY_POOL": f"file:{folder / 'proxies.txt'}",
            "PROXY_CHECK_URL": CHECK,
            "PROXY_CHECK_PATTERN": "the truth",
            "PROXY_CHECK_TIMEOUT": str(max(1.0, 20 * latency_s)),
            "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
            "CONCURRENT_REQUESTS": "64",
        }
        options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        command = [sys.executable, "-m", "p2pcrawl", "crawl", *urls, "-o", str(folder / "pages.jsonl"), "--slaves", "1"]
        began_s = time.monotonic()
        done = subprocess.run(
            [*command, "--json", *options], capture_output=True, text=True, check=False, preexec_fn=ends_with_us()
        )
        taken_s = time.monotonic() - began_s
    certificate = json.loads(done.stdout) if done.stdout else {}
    items = list(items_of(folder / "pages.jsonl"))
    return {"s": taken_s, "items": items, "certificate": certificate, "code": done.returncode, "said": done.stderr}


def compare(folder: Path, *, each: int, pages: int, hosts: int) -> Claims:
    """Compares a pool of all kinds, ``each`` tenths of which are of a kind, with its good proxies alone."""
    mixed = Kinds(good=5 * each, slow=int(1.5 * each), dead=int(1.5 * each), lying=each, blocking=each)
    number = sum(vars(mixed).values())
    claims = Claims(f"{number} proxies, {5 * each} of them good: {hosts * pages} pages of {hosts} hosts")
    claims.note("kinds", ", ".join(f"{count} {name}" for name, count in vars(mixed).items()))
    alone = crawl_through(folder / "good", Kinds(good=mixed.good), hosts=hosts, pages=pages)
    all_kinds = crawl_through(folder / "all", mixed, hosts=hosts, pages=pages)
    rates = []
    for name, run in (("good ones alone", alone), ("all kinds", all_kinds)):
        titles = Counter(item.get("title") for item in run["items"])
        whole = len(titles) == hosts * pages and set(titles.values()) == {1}
        rates.append(60 * len(run["items"]) / run["s"])
        claims.claim(f"pages through {name}", len(run["items"]), whole, f"{hosts * pages}, each once")
        claims.claim(f"lies through {name}", titles["buy this"], not titles["buy this"], "0")
        claims.note(f"pages per minute through {name}", f"{rates[-1]:,.0f} ({run['s']:.1f} s)")
        claims.note(f"retries through {name}", run["certificate"].get("retries_by_reason"))
    share = rates[1] / rates[0]
    claims.claim("all kinds, of good ones alone", f"{share:.2f}", share >= AT_LEAST, f">= {AT_LEAST}")
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--proxies", type=int, default=200)
    parser.add_argument("--pages", type=int, default=400, help="of each host")
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--latency", type=float, default=0.25, help=argparse.SUPPRESS)
    for name in vars(Kinds()):
        parser.add_argument(f"--{name}", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        kinds = Kinds(**{name: getattr(asked, name) for name in vars(Kinds())})
        asyncio.run(_serve(kinds, asked.latency, asked.hosts, asked.pages))
    with tempfile.TemporaryDirectory() as folder:
        return compare(Path(folder), each=asked.proxies // 10, pages=asked.pages, hosts=asked.hosts).print()


if __name__ == "__main__":
    raise SystemExit(main())
