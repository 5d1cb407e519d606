"""The synthetic site: N pages over H loopback hosts, from memory, each request counted.

A page is about 20 KB of HTML with 40 links: its children in a tree (so that every page can be reached from page 0),
pages at random and of the same host, duplicates, fragments and links that lead nowhere. The same numbers always make
the same site. Control, at 127.0.0.1 only: /_stats, /_hits, /_urls, /_reset; with --visits also /_visits, which tells
when each request began (its last byte was read) and ended (its answer was about to be written, or its client was gone),
on the system's monotonic clock, and /_clients, the addresses where the same requests came from.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import socket
import time
from array import array
from dataclasses import dataclass
from typing import Any

from p2pcrawl.demo.process import run_site, site_parser
from p2pcrawl.demo.server import loopback_addresses

CONTROL = "127.0.0.1"
BRANCHES = 4
FOLDERS = 13
SAME_HOST_LINKS = 14
WORDS = """
amber basin cedar delta ember field grove harbour inlet juniper kettle lantern meadow needle orchard pebble quarry river
saddle timber upland valley willow yarrow anchor bridge canal dock engine ferry gate hull jetty ledger mill
""".split()  # noqa: SIM905


@dataclass(slots=True)
class Visit:
    """One request; ``end_s`` is None while it is open."""

    host: str
    target: str
    begin_s: float
    end_s: float | None = None
    client: str = ""


class SyntheticSite:
    """``urls`` are its pages by number, ``hits`` how often each was asked for."""

    def __init__(
        self,
        pages: int = 20_000,
        hosts: int = 200,
        links: int = 40,
        size: int = 20_000,
        latency_s: float = 0.0,
        keeps_visits: bool = False,
        prefix: str = "127.1.0",
        texts: int = 0,
    ) -> None:
        """``texts``: how many texts there are, each of as many pages; 0: each page has its own."""
        self.pages, self._links, self._size, self.latency_s = pages, links, size, latency_s
        self.hosts = loopback_addresses(prefix, hosts) if hosts > 1 else [CONTROL]
        self._keeps_visits = keeps_visits
        self._texts = [_article(number) for number in range(texts)]
        self._random = random.Random(20_000)
        self._servers: list[asyncio.Server] = []
        self.urls: list[str] = []
        self.reset()

    async def start(self) -> str:
        """Serves, and returns the URL of page 0, which leads to all others."""
        loop = asyncio.get_running_loop()
        sockets = _listeners([*self.hosts, *({CONTROL} - set(self.hosts))])
        port = sockets[0].getsockname()[1]
        self.urls = [f"http://{self._host(n)}:{port}{_path(n)}" for n in range(self.pages)]
        self._answers = {(self._host(n), _path(n).encode()): (n, self._answer(n)) for n in range(self.pages)}
        gc.collect()
        gc.freeze()
        for listener in sockets:
            address = listener.getsockname()[0]
            self._servers.append(await loop.create_server(lambda a=address: _Connection(self, a), sock=listener))  # type: ignore[misc]
        self._control = f"http://{CONTROL}:{port}"
        return self.urls[0]

    async def stop(self) -> None:
        for server in self._servers:
            server.close()

    def ready(self) -> dict[str, Any]:
        return {"start": self.urls[0], "control": self._control, "hosts": self.hosts, "pages": self.pages}

    def reset(self) -> None:
        self.hits = array("L", bytes(8 * self.pages))
        self.visits: list[Visit] = []
        self.robots = self.missing = 0
        self.first_s = self.last_s = 0.0
        self._cpu_s = time.process_time()

    def stats(self) -> dict[str, Any]:
        return {
            "pages": self.pages,
            "requests": sum(self.hits),
            "distinct": sum(1 for n in self.hits if n),
            "duplicates": sum(n - 1 for n in self.hits if n),
            "robots": self.robots,
            "notfound": self.missing,
            "span": self.last_s - self.first_s,
            "server_cpu": time.process_time() - self._cpu_s,
        }

    def reply_to(self, host: str, target: bytes) -> bytes:
        found = self._answers.get((host, target))
        if found is not None:
            number, data = found
            self.hits[number] += 1
            self.last_s = time.monotonic()
            self.first_s = self.first_s or self.last_s
            return data
        if target == b"/robots.txt":
            self.robots += 1
            return _ROBOTS
        if host == CONTROL and target.startswith(b"/_"):
            return self._tell(target)
        self.missing += 1
        return _NOT_FOUND

    def begun(self, host: str, target: bytes, client: str = "") -> Visit | None:
        """Notes that a request is here; its end is for whoever answers it to note. None when nobody wants to know."""
        if not self._keeps_visits or target.startswith(b"/_"):
            return None
        visit = Visit(host, target.decode("latin-1"), time.monotonic(), client=client)
        self.visits.append(visit)
        return visit

    def _tell(self, target: bytes) -> bytes:
        match target:
            case b"/_stats":
                told: Any = self.stats()
            case b"/_hits":
                told = {url: n for url, n in zip(self.urls, self.hits, strict=True) if n}
            case b"/_urls":
                told = self.urls
            case b"/_visits":
                told = [(visit.host, visit.target, visit.begin_s, visit.end_s) for visit in self.visits]
            case b"/_clients":
                told = [visit.client for visit in self.visits]
            case b"/_reset":
                self.reset()
                told = {}
            case _:
                return _NOT_FOUND
        return _http(json.dumps(told).encode(), b"application/json")

    def _host(self, number: int) -> str:
        return self.hosts[number % len(self.hosts)]

    # -- pages --------------------------------------------------------------------------------

    def _answer(self, number: int) -> bytes:
        hrefs = self._hrefs(number)
        words = self._random.choices(WORDS, k=2 * len(hrefs) + 2)
        anchors = [
            f'<a href="{href.replace("&", "&amp;")}">{words[2 * k]} {words[2 * k + 1]}</a>'
            for k, href in enumerate(hrefs)
        ]
        menu = "".join(f"<li>{anchor}</li>" for anchor in anchors[:10])
        parts = [
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Page {number}: {words[-1]}</title>'
            '<link rel="stylesheet" href="/look.css"><style>p{margin:1em}</style><script>var page={};</script></head>'
            f'<body class="page"><header><nav><ul class="menu">{menu}</ul></nav></header><main><h1>Page {number}</h1>'
        ]
        if self._texts:
            return _http(_same(number, self._texts[number % len(self._texts)], anchors), b"text/html; charset=utf-8")
        room = self._size - len(parts[0]) - sum(map(len, anchors[10:])) - 80
        inner = iter(anchors[10:])
        while room > 0:
            block = self._random.choice(_BLOCKS)
            parts.append(block.replace("@", next(inner, "")))
            room -= len(block)
        parts.extend(inner)
        parts.append("</main><footer><p>All of this is made up.</p></footer></body></html>")
        return _http("".join(parts).encode(), b"text/html; charset=utf-8")

    def _hrefs(self, number: int) -> list[str]:
        choose, total, hosts = self._random.randrange, self.pages, len(self.hosts)
        targets = [c for c in range(BRANCHES * number + 1, BRANCHES * number + BRANCHES + 1) if c < total]
        per_host = max(1, total // hosts)
        for _ in range(SAME_HOST_LINKS):
            targets.append(min(total - 1, choose(per_host) * hosts + number % hosts))
        while len(targets) < self._links - 11:
            targets.append(choose(total))
        hrefs = [self._href(number, target) for target in targets]
        again = self._random.choices(targets, k=4)
        hrefs += [self.urls[again[0]], self.urls[again[1]], self.urls[again[2]] + "#part", self.urls[again[3]] + "#end"]
        hrefs += ["#top", "#part", "mailto:nobody@example.invalid", "javascript:void(0)", self.urls[0]]
        hrefs += [f"http://elsewhere-{choose(500)}.invalid/{choose(9999)}" for _ in range(2)]
        return hrefs

    def _href(self, number: int, target: int) -> str:
        """Writes a link: absolute to other hosts; within the host absolute, from the root, or relative."""
        style = self._random.randrange(3)
        if self._host(number) != self._host(target) or style == 0:
            return self.urls[target]
        return _path(target) if style == 1 else ".." + _path(target)


class _Connection(asyncio.Protocol):
    """Requests without bodies, answered in order; as little work as possible."""

    def __init__(self, site: SyntheticSite, host: str) -> None:
        self._site, self._host, self._buffer = site, host, b""
        self._open: list[Visit] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._client = str(transport.get_extra_info("peername", ("",))[0])

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            target = head.split(b" ", 2)[1]
            visit = self._site.begun(self._host, target, self._client)
            reply = self._site.reply_to(self._host, target)
            self._open += [visit] if visit is not None else []
            if self._site.latency_s:
                asyncio.get_running_loop().call_later(self._site.latency_s, self._send, reply, visit)
            else:
                self._send(reply, visit)

    def connection_lost(self, error: Exception | None) -> None:
        for visit in self._open:
            visit.end_s = time.monotonic()
        self._open.clear()

    def _send(self, reply: bytes, visit: Visit | None) -> None:
        if visit is not None and visit in self._open:
            visit.end_s = time.monotonic()
            self._open.remove(visit)
        if not self._transport.is_closing():
            self._transport.write(reply)  # type: ignore[attr-defined]


def _article(number: int) -> list[str]:
    """Writes the paragraphs of a text."""
    chosen = random.Random(number)
    return [" ".join(chosen.choices(WORDS, k=60)).capitalize() for _ in range(6)]


def _same(number: int, article: list[str], anchors: list[str]) -> bytes:
    """Writes a page with an article that others have, too, and what no other has around it."""
    menu = "".join(f"<li>{anchor}</li>" for anchor in anchors)
    text = "".join(f"<p>{paragraph}.</p>" for paragraph in article)
    return (
        f"<!DOCTYPE html><html lang=en><head><title>Page {number}</title></head><body><nav><ul>{menu}</ul></nav>"
        f"<article>{text}</article><footer>Page {number} was made now.</footer></body></html>"
    ).encode()


def _path(number: int) -> str:
    folder = f"/s{number % FOLDERS}/"
    return f"{folder}show?page={number}&view=full" if number % 10 == 3 else f"{folder}{number}.html"


def _blocks() -> list[str]:
    """Writes pieces of markup, some of them rows of a table; @ is where a link goes."""
    chosen = random.Random(7)
    blocks = []
    for number in range(300):
        text = " ".join(chosen.choices(WORDS, k=chosen.randint(30, 70))).capitalize()
        rows = "".join(
            f'<tr class="r{row % 2}"><td>{chosen.choice(WORDS)}</td><td class="n">{chosen.randrange(9999)}</td></tr>'
            for row in range(3)
        )
        blocks.append(
            f'<section class="block"><div class="row"><h2 id="b{number}">{text[:20]}</h2><p>{text}. <em>@</em></p>'
            f"<table>{rows}</table></div></section>\n"
        )
    return blocks


def _http(body: bytes, kind: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (status, kind, len(body), body)


def _listeners(addresses: list[str]) -> list[socket.socket]:
    """Binds one port that is free on all addresses."""
    for attempt in range(50):
        sockets: list[socket.socket] = []
        try:
            for address in addresses:
                listener = socket.socket()
                sockets.append(listener)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((address, sockets[0].getsockname()[1] if len(sockets) > 1 else 0))
                listener.listen(512)
                listener.setblocking(False)
            return sockets
        except OSError:
            for listener in sockets:
                listener.close()
            if attempt == 49:
                raise
    raise AssertionError("unreachable")


_BLOCKS = _blocks()
_ROBOTS = _http(b"User-agent: *\nDisallow: /closed/\n", b"text/plain")
_NOT_FOUND = _http(b"not found", b"text/plain", b"404 Not Found")


def main() -> None:
    parser = site_parser("The synthetic site. Control: /_stats, /_hits, /_urls, /_reset at 127.0.0.1")
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--size", type=int, default=20_000, help="bytes per page")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--prefix", default="127.1.0", help="of the addresses that its hosts have")
    parser.add_argument("--texts", type=int, default=0, help="texts that the pages share (default: each has its own)")
    parser.add_argument("--visits", action="store_true", help="keep when each request began and ended")
    parser.add_argument("--last-core", action="store_true", help="stay on the last core")
    options = parser.parse_args()
    if options.last_core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    site = SyntheticSite(
        options.pages,
        options.hosts,
        size=options.size,
        latency_s=options.latency,
        keeps_visits=options.visits,
        prefix=options.prefix,
        texts=options.texts,
    )
    run_site(site, options.until_eof)


if __name__ == "__main__":
    main()
