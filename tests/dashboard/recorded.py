"""A peer that answers what a test tells it to: states of a cluster that are rare, large, or hostile."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from p2pcrawl.peer.api.page_files import INDEX, page_files, page_headers

Answer = Callable[[dict[str, str]], Any]


class RecordedPeer:
    """Listens on loopback, and serves the dashboard with the answers in ``answers``: by path, values or functions of
    the query. What the page changes is kept in ``changes``.
    """

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.changes: list[tuple[str, str, Any]] = []
        self.asked: list[str] = []
        self.refusal: tuple[int, str] | None = None
        """The answer to all changes, if they are refused."""
        self.reading_is_free = True
        self._files = page_files()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def log_message(self, *_: object) -> None: ...

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                name = parts.path.removeprefix("/static/") if parts.path != "/" else INDEX
                if (file := peer._files.get(name)) is not None:
                    return self._send(200, file.body, page_headers(file))
                peer.asked.append(self.path)
                if parts.path == "/v1/events":
                    # An open stream with nothing to tell, for as long as the page listens.
                    self._open_stream()
                    return None
                answer = peer.answers.get(parts.path)
                if answer is None:
                    return self._json(404, {"error": f"there is no {parts.path}"})
                if not peer.reading_is_free and self.headers.get("Authorization") != "Bearer " + "a" * 64:
                    return self._json(401, {"error": "this call needs a token of this peer"})
                if callable(answer):
                    answer = answer({key: values[0] for key, values in parse_qs(parts.query).items()})
                self._json(200, answer)

            def _open_stream(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(b": quiet\n\n")
                self.wfile.flush()
                self.rfile.read(1)

            def _change(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.headers.get("Authorization") != "Bearer " + "a" * 64:
                    return self._json(401, {"error": "this call needs the token of this peer"})
                if peer.refusal is not None:
                    return self._json(peer.refusal[0], {"error": peer.refusal[1]})
                peer.changes.append((self.command, self.path, json.loads(body) if body else None))
                self._json(200, {"job": 4711})

            do_POST = do_PATCH = do_DELETE = _change

            def _json(self, status: int, answer: Any) -> None:
                self._send(status, json.dumps(answer).encode(), {"Content-Type": "application/json"})

            def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        return Handler


# -- a cluster, as it would tell of itself


def ids(count: int) -> list[str]:
    return [f"{(number * 0x9E3779B97F4A7C15F39CC0605CEDC835) % (1 << 128):032x}" for number in range(1, count + 1)]


def member(node: str, number: int, state: str = "alive", **more: Any) -> dict[str, Any]:
    return {
        "id": node,
        "address": f"127.0.0.1:{7117 + number}",
        "api": f"127.0.0.1:{7180 + number}",
        "state": state,
        "role": "master",
        "heartbeat_s": 0.3 + number / 7,
        "share": 0.1,
        "weight": 1,
        "queued": 48_213 + 977 * number,
        "leased": 96 - number,
        "slaves": 2,
        "cpu": 0.41 + number / 40,
        "rss_mb": 121 + number,
        "disk_free_mb": 181_000,
        "view": "5a1f00c2e4d9b7a0",
    } | more


def job(number: int, **more: Any) -> dict[str, Any]:
    return {
        "job": 8_123_456_789 + number,
        "label": f"quotes-{number}",
        "name": "quotes",
        "state": "running",
        "reason": "",
        "pages": 12_345 * (1 + number % 7),
        "queued": 8_000 + number,
        "leased": 64,
        "items": 23_456,
        "failed": 17 * number,
        "dropped": 3,
        "pages_per_s": 41.3,
        "left": {"pages": 8064, "seconds": 195.0, "why": "at least: 12 new URLs a minute were found lately"},
        "settled": True,
        "final": None,
    } | more


def host(number: int, owner: str, **more: Any) -> dict[str, Any]:
    return {
        "host": f"www{number}.example.com",
        "queued": 4_000 - number % 4000,
        "leased": number % 3,
        "owner": owner,
        "delay_s": 1.0 + number % 3,
        "delay_from": ("default", "robots.txt", "auto-throttle")[number % 3],
        "next_at": time.time() + 0.8,
        "why_slow": ("its delay", "Retry-After 12 s", "")[number % 3],
    } | more


def overview(nodes: list[str], *, jobs: int = 3, hosts: int = 20) -> dict[str, Any]:
    members = [member(node, number, share=1 / len(nodes)) for number, node in enumerate(nodes)]
    kinds = ["view-changed", "member-joined", "handover", "job-submitted", "slave-attached"]
    return {
        "at": time.time(),
        "cluster": "crawl",
        "view": "5a1f00c2e4d9b7a0",
        "agreed": True,
        "views": ["5a1f00c2e4d9b7a0"],
        "asked": {"id": nodes[0], "role": "master", "api": members[0]["api"]},
        "health": {
            "up": len(nodes),
            "suspect": 0,
            "dead": 0,
            "left": 0,
            "pages_per_s": 412.4,
            "items_per_s": 803.1,
            "errors_per_s": 0.7,
            "frontier": 482_133,
            "in_flight": 187,
            "jobs_running": jobs,
            "finished": False,
            "missing": {},
        },
        "members": members,
        "jobs": [job(number) for number in range(min(jobs, 50))],
        "jobs_total": jobs,
        "hosts": [host(number, nodes[number % len(nodes)]) for number in range(20)],
        "hosts_total": hosts,
        "warnings": [],
        "events": [
            {
                "id": f"0-{n}",
                "at": time.time() - 7 * n,
                "kind": kind,
                "peer": nodes[0][:8],
                "fields": {"peer": nodes[0]},
            }
            for n, kind in enumerate(kinds)
        ],
    }


def buckets(nodes: list[str], copies: int = 2, count: int = 4096) -> dict[str, Any]:
    """Shares buckets out like dice: no two neighbours of the ring belong together."""
    order = [sorted(range(len(nodes)), key=lambda n: hash((n * 7919 + 17, bucket * 31))) for bucket in range(count)]
    return {
        "buckets": count, "owners": nodes, "view": "5a1f00c2e4d9b7a0", "moving": [],
        "owner_of": [[each[0], 1] for each in order], "copies_of": [[each[:copies], 1] for each in order],
    }  # fmt: skip


def history(minutes: int, step_s: int = 60) -> dict[str, Any]:
    def wave(n: int, height: float, period: int) -> float:
        return round(height * (1 + 0.3 * ((n * 7919) % period) / period + 0.4 * (n % period) / period), 1)

    steps = range(minutes * 60 // step_s)
    series = {
        "pages": [wave(n, 14_000, 37) for n in steps], "items": [wave(n, 26_000, 41) for n in steps],
        "latency_p50_ms": [wave(n, 80, 23) for n in steps], "latency_p95_ms": [wave(n, 310, 29) for n in steps],
        "status_2xx": [wave(n, 13_000, 37) for n in steps], "status_3xx": [wave(n, 600, 19) for n in steps],
        "status_4xx": [wave(n, 300, 17) for n in steps], "status_5xx": [wave(n, 90, 13) for n in steps],
        "errors": [wave(n, 60, 31) for n in steps],
    }  # fmt: skip
    return {"step_s": step_s, "from": time.time() - minutes * 60, "series": series}


def schedule(name: str, owner: str, **more: Any) -> dict[str, Any]:
    """Returns a schedule with seven runs."""
    states = ["deleted", "finished", "finished", "", "finished", "", "running"]
    run = {"outcome": "started", "why": "", "by_hand": False}
    runs = [run | {"at": 1_795_100_000.0 + 300 * n, "job": n + 1, "state": state} for n, state in enumerate(states)]
    runs[2] |= {"by_hand": True}
    runs[3] |= {"outcome": "refused", "job": 0, "why": "module wine is missing"}
    runs[5] |= {"outcome": "skipped", "job": 0}
    task = {"does": "press https://press.example/", "cron": "*/5 * * * *", "zone": "UTC", "next": [1_795_102_100.0]}
    rules = {"overlap": "skip", "missed": "once", "keep": 50, "since": 1_795_000_000.0, "owner": owner, "missing": []}
    return {"name": name, "state": "active", **task, **rules, "runs": runs, **more}


def answers(nodes: list[str], *, jobs: int = 3, hosts: int = 20) -> dict[str, Any]:
    """Returns the answers of a cluster at work to all that the page asks."""
    number = job(0)["job"]
    every = [host(n, nodes[n % len(nodes)]) for n in range(hosts)]

    def hosts_told(query: dict[str, str]) -> dict[str, Any]:
        found = [each for each in every if query.get("find", "") in each["host"]]
        return {"hosts": found[: int(query["limit"])], "total": len(found)}

    return {
        "/v1/overview": lambda _: overview(nodes, jobs=jobs, hosts=hosts),
        "/v1/buckets": lambda _: buckets(nodes),
        "/v1/history": lambda query: history(int(query["minutes"])),
        "/v1/hosts": hosts_told,
        "/v1/schedules": {"schedules": [schedule("press", nodes[0]), schedule("nightly", nodes[1], runs=[], next=[])]},
        "/v1/warnings": {
            "warnings": [
                {"at": 5.0, "peer": nodes[1], "level": "WARNING", "logger": "p2pcrawl.master", "text": "a disk is slow"}
            ]
        },
        f"/v1/jobs/{number}": job(0),
        f"/v1/jobs/{number}/hosts": {"hosts": every[:25], "total": len(every)},
        f"/v1/jobs/{number}/statistics": {
            "rows": [
                {
                    "name": f"{at}",
                    "at": at,
                    "pages": 41_212 - n,
                    "items": 82_000,
                    "bytes": 1_634_123_456 >> n,
                    "fetches": 43_011,
                    "failed": 71,
                    "retries": 903,
                    "errors": {},
                }
                for n, at in enumerate(range(1_795_100_400, 1_795_082_400, -3600))
            ]
        },
        f"/v1/jobs/{number}/latest": {
            "items": [
                {"url": f"https://www{n}.example.com/page/{n}", "at": time.time() - n, "item": {"author": f"Ada {n}"}}
                for n in range(8)
            ]
        },
        f"/v1/jobs/{number}/errors": {
            "errors": [
                {
                    "kind": "timeout",
                    "count": 214,
                    "hosts": 3,
                    "examples": [
                        {
                            "url": "https://slow.example.com/a",
                            "host": "slow.example.com",
                            "at": time.time() - 40,
                            "detail": "no answer in 30 s",
                        }
                    ],
                },
                {"kind": "status 503", "count": 12, "hosts": 1, "examples": []},
            ]
        },
    }
