"""A news site that lives, in threads of the test: articles appear, change and vanish, and it knows who asked."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from typing import NamedTuple, Self


class Visitor(NamedTuple):
    """Somebody who asked: for what, with which condition, and how that was answered."""

    path: str
    condition: str
    status: int


class LivingSite:
    """``url`` is its front page. What it says of its articles is in ``articles``, by number; an article has an ETag.
    The front page says something else each time that nobody reads.
    """

    def __init__(self, articles: int = 5) -> None:
        self.articles = {n: f"article {n}" for n in range(articles)}
        self.visitors: list[Visitor] = []
        self._lock = Lock()
        self._ticks = count()
        site = self

        class Page(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Says nothing."""

            def do_GET(self) -> None:
                site._answer(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def publish(self, *texts: str) -> list[str]:
        """Adds articles; returns their URLs."""
        with self._lock:
            first = max(self.articles, default=-1) + 1
            self.articles |= {first + n: text for n, text in enumerate(texts)}
        return [self.article(first + n) for n in range(len(texts))]

    def article(self, number: int) -> str:
        return f"{self.url}a/{number}"

    def asked(self, path: str) -> int:
        """Counts the requests for a page."""
        with self._lock:
            return sum(visitor.path == path for visitor in self.visitors)

    def sent(self) -> Counter[str]:
        """Counts how often each article was sent in full."""
        with self._lock:
            return Counter(v.path for v in self.visitors if v.path.startswith("/a/") and v.status == 200)

    def _answer(self, asked: BaseHTTPRequestHandler) -> None:
        condition = asked.headers.get("If-None-Match", "")
        with self._lock:
            status, text, tag = self._page(asked.path)
            if tag and condition == tag:
                status, text = 304, ""
            self.visitors.append(Visitor(asked.path, condition, status))
        body = text.encode()
        asked.send_response(status)
        asked.send_header("Content-Type", "text/html; charset=utf-8")
        if tag:
            asked.send_header("ETag", tag)
        asked.send_header("Content-Length", str(len(body)))
        asked.end_headers()
        asked.wfile.write(body)

    def _page(self, path: str) -> tuple[int, str, str]:
        if path == "/":
            links = "".join(f'<a href="/a/{n}">{n}</a> ' for n in self.articles)
            tick = next(self._ticks)
            return 200, f"<html><body>{links}<script>seen({tick})</script><!-- {tick} --></body></html>", ""
        number = int(path[3:]) if path.startswith("/a/") and path[3:].isdigit() else -1
        if number not in self.articles:
            return 404, "no such page", ""
        text = f"<html><head><title>{self.articles[number]}</title></head><body>{self.articles[number]}</body></html>"
        return 200, text, f'"{blake2b(text.encode(), digest_size=6).hexdigest()}"'
