"""Attacks a peer as somebody without a key who means harm: ``python -m benchmarks.kit.attacker PEER API RECORDED``.

For so many seconds it sends to a peer's port and to its API what a stranger can: random, truncated and oversized bytes,
what it has overheard (benchmarks.kit.recorded_peer) again as it was, and the same forged. Prints how much that was.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import socket
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path

from benchmarks.kit.recorded_peer import DATAGRAMS, STREAM, recorded

STEP_S = 0.01
OVERHEAR_S = 1.0
OPEN_MAX = 100
"""Connections that are left open, in silence; the oldest is closed then."""
UDP_MAX = 65_507
HEAD_BYTES = 50
"""Of a sealed datagram: version, channel, key, sender, boot, receiver's boot, counter."""
SENDER = slice(6, 34)


class Attacker:
    """``sent`` counts by kind."""

    def __init__(self, peer: tuple[str, int], api: tuple[str, int], folder: Path, dice: random.Random) -> None:
        self._peer, self._api, self._folder, self._dice = peer, api, folder, dice
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.setblocking(False)
        self._open: deque[socket.socket] = deque()
        self._overheard: list[bytes] = []
        self._streams: list[list[bytes]] = []
        self.sent: Counter[str] = Counter()

    def attack(self, seconds: float, datagrams_per_s: int, connections_per_s: int, calls_per_s: int) -> None:
        began_s = time.monotonic()
        listened_s, done = float("-inf"), Counter[str]()
        while (past_s := time.monotonic() - began_s) < seconds:
            if past_s - listened_s >= OVERHEAR_S:
                listened_s = past_s
                self._overhear()
            for what, rate in (("datagram", datagrams_per_s), ("connection", connections_per_s), ("call", calls_per_s)):
                # Behind its time it does not hurry: no more than ten steps' worth at once.
                due = min(int(past_s * rate) - done[what], int(10 * STEP_S * rate) + 1)
                done[what] = int(past_s * rate)
                for _ in range(due):
                    getattr(self, f"_{what}")()
            time.sleep(STEP_S)

    def close(self) -> None:
        for each in (self._udp, *self._open):
            each.close()

    def _overhear(self) -> None:
        self._overheard = list(recorded(self._folder / DATAGRAMS))[-5000:]
        streams = self._folder.glob(STREAM.format("*"))
        self._streams = [pieces for path in streams if (pieces := list(recorded(path)))]

    # -- datagrams ----------------------------------------------------------------------------

    def _datagram(self) -> None:
        dice, genuine = self._dice, self._dice.choice(self._overheard)
        kind = dice.choice(("random", "truncated", "oversized", "replayed", "forged", "forged sender"))
        match kind:
            case "random":
                data = dice.randbytes(dice.randrange(1, 1500))
            case "truncated":
                data = genuine[: dice.randrange(len(genuine))]
            case "oversized":
                data = genuine + bytes(dice.choice((1500, 9000, UDP_MAX)) - len(genuine))
            case "replayed":
                data = genuine
            case "forged":
                forged = bytearray(genuine)
                forged[dice.randrange(HEAD_BYTES, len(forged))] ^= dice.randrange(1, 256)
                # Of a later counter, so that it is not known for a repetition by its head alone.
                forged[HEAD_BYTES - 8 : HEAD_BYTES] = dice.randbytes(8)
                data = bytes(forged)
            case _:
                data = genuine[: SENDER.start] + dice.randbytes(28) + genuine[SENDER.stop :]
        try:
            self._udp.sendto(data, self._peer)
        except OSError:
            kind = "datagrams that this machine did not take"
        self.sent[kind] += 1

    # -- connections --------------------------------------------------------------------------

    def _connection(self) -> None:
        dice, genuine = self._dice, self._dice.choice(self._streams)
        kind, data = dice.choice(
            (
                ("random stream", dice.randbytes(dice.randrange(2000))),
                ("replayed stream", b"".join(genuine)),
                ("replayed hello", genuine[0]),
                ("truncated stream", genuine[0][: dice.randrange(len(genuine[0]))]),
                ("hello and rubbish", genuine[0] + dice.randbytes(dice.randrange(5000))),
                ("forged hello", _flipped(genuine[0], dice)),
                ("oversized record", genuine[0] + b"\x17\xff\xff" + bytes(70_000)),
                ("nested frame", b"\0\x0f\xff\xff" + b"\x91" * 100_000),
                ("HTTP at the port", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                ("silent connection", b""),
            )
        )
        self._say(kind, self._peer, data)

    def _call(self) -> None:
        dice = self._dice
        kind, data = dice.choice(
            (
                ("random call", dice.randbytes(dice.randrange(5000))),
                ("endless header", b"GET /status HTTP/1.1\r\nX: " + b"x" * 100_000),
                ("call with an oversized length", _post(b"", b"9" * 30)),
                ("call with a nested body", _post(b"[" * 100_000)),
                ("call with a wrong token", _post(b"{}")),
                ("call with a foreign Host", b"GET /status HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
            )
        )
        self._say(kind, self._api, data)

    def _say(self, kind: str, where: tuple[str, int], data: bytes) -> None:
        """Sends as much as the other end takes at once. The connection stays until others have taken its place."""
        stream = socket.socket()
        stream.setblocking(False)
        self._open.append(stream)
        with contextlib.suppress(BlockingIOError):
            stream.connect(where)
        try:
            stream.send(data)
        except OSError:
            kind = f"{kind}, not taken"
        self.sent[kind] += 1
        if len(self._open) > OPEN_MAX or (data and self._dice.random() < 0.5):
            self._open.popleft().close()


def _flipped(data: bytes, dice: random.Random) -> bytes:
    flipped = bytearray(data)
    flipped[dice.randrange(len(flipped))] ^= dice.randrange(1, 256)
    return bytes(flipped)


def _post(body: bytes, length: bytes = b"") -> bytes:
    head = b"POST /submit HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %s\r\n\r\n"
    return head % (b"0" * 64, length or str(len(body)).encode()) + body


def _where(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", type=_where)
    parser.add_argument("api", type=_where)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--datagrams", type=int, default=20_000, help="per second")
    parser.add_argument("--connections", type=int, default=100, help="per second")
    parser.add_argument("--calls", type=int, default=20, help="of the API, per second")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args(arguments)
    attacker = Attacker(o.peer, o.api, o.recorded, random.Random(o.seed))
    try:
        attacker.attack(o.seconds, o.datagrams, o.connections, o.calls)
    finally:
        attacker.close()
    print(json.dumps(attacker.sent))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
