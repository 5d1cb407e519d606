"""The traps of the hostile site, as a table: what each serves, and how a crawler may end there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from tests.sites import bombs
from tests.sites.server import Asked, Stream, TimedReply, Wire, head, site_answer

Serve = Callable[[Asked, str], TimedReply | Stream]
"""Answers a request, given the site's port as text."""

DRIP_S = 0.2
ENDLESS_BYTES = 10 * 1024**3
LINKS_AFTER = '<p><a href="/after">after</a></p>'

DONE = frozenset({"done"})
REDIRECTED = frozenset({"redirected"})
TIMEOUT = frozenset({"first-byte-timeout", "total-timeout"})
BROKEN = frozenset({"protocol", "lost-connection"})
BAD_REDIRECT = frozenset({"bad-redirect"})
REFUSED = frozenset({"private-network"})
BOMB = frozenset({"inflate-limit"})


@dataclass(frozen=True, slots=True)
class Trap:
    """One way of being hostile, at an address of its own."""

    name: str
    serve: Serve
    ends: frozenset[str]
    """How the page at ``start`` may end: values of Failure and Drop, "done", "redirected"."""
    start: str = "/"
    robots: Serve | None = None
    """404 when there is none."""
    then: frozenset[str] = frozenset()
    """How the page that a redirect leads to may end."""


# -- pieces ---------------------------------------------------------------------------------------


def whole(body: bytes | str, content_type: str = "text/html; charset=utf-8", **headers: str) -> Serve:
    """An answer that is sent as it should be; a header's name has _ for -."""
    extra = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda asked, port: TimedReply(site_answer(body, content_type=content_type, headers=extra))


def redirect(location: str, status: int = 302) -> Serve:
    """``PORT`` in the location is the site's port."""
    return lambda asked, port: TimedReply(site_answer("", status, headers={"Location": location.replace("PORT", port)}))


def raw(data: bytes, reset: bool = False) -> Serve:
    """Some bytes, and then the end of the connection."""

    async def stream(wire: Wire) -> None:
        await wire.write(data)
        if reset:
            wire.abort()

    return lambda asked, port: stream


def repeated(first: bytes, piece: bytes, pause_s: float = 0.0) -> Serve:
    """``first``, and then ``piece`` until the client goes away, or 10 GiB."""

    async def stream(wire: Wire) -> None:
        await wire.write(first)
        while wire.sent_bytes < ENDLESS_BYTES:
            await wire.write(piece)
            await asyncio.sleep(pause_s)

    return lambda asked, port: stream


def dripped(first: bytes, drop: bytes) -> Serve:
    """``first``, and then ``drop`` every 0.2 s for as long as the client waits; it begins as slowly."""

    async def stream(wire: Wire) -> None:
        for begin in range(3):
            await wire.write(first[begin : begin + 1])
            await asyncio.sleep(DRIP_S)
        await wire.write(first[3:])
        while True:
            await asyncio.sleep(DRIP_S)
            await wire.write(drop)

    return lambda asked, port: stream


def bomb(pieces: bombs.Bomb, encoding: str, content_type: str = "text/html") -> Serve:
    """A compressed body in chunks, made while it is sent."""

    async def stream(wire: Wire) -> None:
        await wire.write(
            head(200, {"Content-Type": content_type, "Content-Encoding": encoding, "Transfer-Encoding": "chunked"})
        )
        for piece in pieces(bombs.GIB):
            if piece:
                await wire.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await asyncio.sleep(0)
        await wire.write(b"0\r\n\r\n")

    return lambda asked, port: stream


def by_path(table: Mapping[str, Serve]) -> Serve:
    """A trap of several pages; the others are missing."""

    def serve(asked: Asked, port: str) -> TimedReply | Stream:
        found = table.get(asked.path)
        return found(asked, port) if found else TimedReply(site_answer("no such page", 404))

    return serve


def silent(asked: Asked, port: str) -> TimedReply:
    return TimedReply(b"", delay_s=3600.0, close=True)


def endless_redirect(asked: Asked, port: str) -> TimedReply:
    number = int(asked.path.rpartition("/")[2] or 0)
    return TimedReply(site_answer("", 302, headers={"Location": f"/hop/{number + 1}"}))


def calendar(asked: Asked, port: str) -> TimedReply:
    """A page for each day, with links to the day before and the day after, for some 10,000 years."""
    try:
        day = date.fromisoformat(asked.path.rpartition("/")[2])
        links = [day + timedelta(days=1), day - timedelta(days=1)]
    except (ValueError, OverflowError):
        return TimedReply(site_answer("no such day", 404))
    anchors = "".join(f'<a href="/day/{link}?view=month&amp;from={day}">{link}</a>' for link in links)
    return TimedReply(site_answer(f"<title>{day}</title>{anchors}"))


def endless_paths(asked: Asked, port: str) -> TimedReply:
    """A relative link that makes the path longer each time."""
    return TimedReply(site_answer('<title>deeper</title><a href="deeper/">deeper</a>'))


def huge_robots() -> bytes:
    """10 MB; what it closes stands at its beginning, and it would close everything at its end."""
    comment = b"# " + b"x" * 97 + b"\n"
    return b"User-agent: *\nDisallow: /closed/\n" + comment * 100_000 + b"Disallow: /\n"


def pattern_robots() -> bytes:
    """500 KiB of rules that are slow to match where a matcher goes back and forth."""
    rule = b"Disallow: /*" + b"a*" * 60 + b"b$\n"
    return b"User-agent: *\n" + rule * (500 * 1024 // len(rule) - 1)


ROBOTS_PAGES = by_path(
    {
        "/": whole("<title>open</title><a href='/closed/page'>closed</a><a href='/" + "a" * 1500 + "'>long</a>"),
        "/closed/page": whole("<title>closed</title>"),
        "/robots-a": redirect("/robots.txt"),
        "/" + "a" * 1500: whole("<title>long path</title>"),
    }
)
RUSSIAN = "<title>Привет</title><p>Съешь же ещё этих мягких французских булок, да выпей чаю.</p>" * 3
JAPANESE = "<title>日本語</title><p>これは文字コードの宣言がない日本語のページです。</p>" * 3
LATIN = "<title>Café</title><p>Où est l'été? Là-bas, peut-être, à Nîmes.</p>"

BROKEN_HTML = (
    "<html><head><title>Broken <b>but</title><body><table><tr><td><a href='/after'>one<a href=/after?2>two"
    "<div><p><form><form></p><script>if (a < b) document.write('<a href=\"/not-a-link\">')</script>"
    '<a href="/after?3" href="/never">three</a><a href>none</a><a href="http://[bad">bad</a><a href="/a b\x00c">nul</a>'
    "<!-- <a href='/never'> --!><![CDATA[ <a href='/after?4'>]]></ta></html></body>"
    "<a href=//>empty</a>&#x110000;&bogus;<"
)


def traps() -> list[Trap]:
    """All of them; each gets the next address."""
    return [*_bombs(), *_floods(), *_redirects(), *_texts(), *_robots(), *_liars()]


def _bombs() -> list[Trap]:
    return [
        Trap("bomb-gzip", bomb(bombs.gzip_bomb, "gzip"), BOMB),
        Trap("bomb-gzip-members", bomb(bombs.gzip_members_bomb, "gzip"), BOMB),
        Trap("bomb-gzip-twice", bomb(bombs.gzip_twice_bomb, "gzip, gzip"), BOMB),
        Trap("bomb-deflate", bomb(bombs.deflate_bomb, "deflate"), BOMB),
        Trap("bomb-deflate-raw", bomb(bombs.raw_deflate_bomb, "deflate"), BOMB),
        Trap("bomb-br", bomb(bombs.brotli_bomb, "br"), BOMB),
        Trap("bomb-zstd", bomb(bombs.zstd_bomb, "zstd"), BOMB),
        Trap("bomb-zstd-frames", bomb(bombs.zstd_frames_bomb, "zstd"), BOMB),
        Trap("bomb-zstd-window", bomb(bombs.zstd_window_bomb, "zstd"), BOMB | {"bad-content-encoding"}),
    ]


def _floods() -> list[Trap]:
    """Bodies and heads without end, too fast or too slow."""
    html = {"Content-Type": "text/html"}
    chunked_head = head(200, {**html, "Transfer-Encoding": "chunked"})
    chunk = b"10000\r\n" + b"<p>" * 21845 + b" \r\n"
    line = b"HTTP/1.1 200 OK\r\n"
    too_large = frozenset({"too-large", "total-timeout"})
    headed = frozenset({"protocol"}) | TIMEOUT
    return [
        Trap("endless-body", repeated(chunked_head, chunk), too_large),
        Trap(
            "huge-length", repeated(head(200, {**html, "Content-Length": str(ENDLESS_BYTES)}), bytes(65536)), too_large
        ),
        Trap("endless-headers", repeated(line, b"".join(b"X-%d: %s\r\n" % (n, b"x" * 80) for n in range(100))), headed),
        Trap("endless-header-line", repeated(line + b"X-Long: ", b"x" * 65536), headed),
        Trap("endless-continue", repeated(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), headed | BROKEN),
        Trap("endless-cookies", repeated(line, b"Set-Cookie: a%d=b; path=/\r\n" * 50), headed),
        Trap("slow-head", dripped(line + b"X-Slow: ", b"x"), TIMEOUT),
        Trap("slow-body", dripped(head(200, {**html, "Content-Length": "1000000"}), b"x"), TIMEOUT),
        Trap("slow-chunks", dripped(chunked_head, b"1\r\nx\r\n"), TIMEOUT),
        Trap("silent", silent, TIMEOUT),
    ]


def _redirects() -> list[Trap]:
    a_b = by_path({"/": redirect("/b"), "/b": redirect("/")})
    return [
        Trap("redirect-loop", a_b, REDIRECTED | BAD_REDIRECT, then=REDIRECTED | BAD_REDIRECT),
        Trap("redirect-self", redirect("/"), BAD_REDIRECT),
        Trap("redirect-endless", endless_redirect, REDIRECTED, "/hop/0", then=REDIRECTED),
        Trap("redirect-metadata", redirect("http://169.254.169.254/latest/"), REDIRECTED | REFUSED, then=REFUSED),
        Trap("redirect-mapped", redirect("http://[::ffff:127.0.0.1]:PORT/private"), REDIRECTED | REFUSED, then=REFUSED),
        Trap(
            "redirect-mapped-metadata", redirect("http://[::ffff:169.254.169.254]/"), REDIRECTED | REFUSED, then=REFUSED
        ),
        Trap("redirect-nat64", redirect("http://[64:ff9b::169.254.169.254]/"), REDIRECTED | REFUSED, then=REFUSED),
        Trap("redirect-decimal", redirect("http://2130706433:PORT/private"), REDIRECTED | REFUSED, then=REFUSED),
        Trap("redirect-any", redirect("http://0.0.0.0:PORT/private"), REDIRECTED | REFUSED, then=REFUSED),
        Trap("redirect-file", redirect("file:///etc/passwd"), BAD_REDIRECT),
        Trap("redirect-nowhere", lambda asked, port: TimedReply(site_answer("", 302)), BAD_REDIRECT),
        Trap("redirect-garbage", redirect("http://[::1/ \x7f"), BAD_REDIRECT | REDIRECTED, then=BAD_REDIRECT),
    ]


def _texts() -> list[Trap]:
    """Pages that are hard to read, and ways that never end."""
    utf8 = "text/html; charset=utf-8"
    deep = "<div>" * 20_000 + LINKS_AFTER
    links = LINKS_AFTER + "".join(f'<a href="http://far-{n}.invalid/">{n}</a>' for n in range(20_000))
    pages: list[tuple[str, Serve]] = [
        ("charset-latin1-as-utf8", whole((LATIN + LINKS_AFTER).encode("latin-1"), utf8)),
        ("charset-utf16-no-bom", whole((LATIN + LINKS_AFTER).encode("utf-16-le"), "text/html")),
        ("charset-shift-jis", whole((JAPANESE + LINKS_AFTER).encode("shift_jis"), "text/html")),
        ("charset-koi8-r", whole((RUSSIAN + LINKS_AFTER).encode("koi8-r"), "text/html")),
        ("charset-unknown", whole(LATIN + LINKS_AFTER, "text/html; charset=x-klingon")),
        ("charset-contradiction", whole(b"\xef\xbb\xbf" + LATIN.encode(), 'text/html; charset="utf-16')),
        ("html-broken", whole(BROKEN_HTML)),
        ("html-deep", whole(deep)),
        ("html-binary", whole(bytes(range(256)) * 400)),
        ("html-attribute", whole(f'<a title="{"x" * 2_000_000}" href="/after">after</a>')),
        ("html-empty", whole(b"")),
        ("html-many-links", whole(links)),
        ("no-content-type", raw(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<p>hi\n")),
    ]
    after = whole("<title>after</title>")
    return [
        *(Trap(name, by_path({"/": serve, "/after": after}), DONE) for name, serve in pages),
        Trap("calendar", calendar, DONE, "/day/2024-02-28"),
        Trap("endless-paths", endless_paths, DONE, "/deeper/"),
    ]


def _robots() -> list[Trap]:
    """Robots.txt as the trap; the pages behind it are ordinary."""
    plain, unreachable = "text/plain", frozenset({"robots-unreachable", "robots"})
    huge = whole(huge_robots(), plain)
    robots: list[tuple[str, Serve, frozenset[str]]] = [
        ("robots-huge", huge, DONE),
        ("robots-loop", redirect("/robots-a"), DONE | unreachable),
        ("robots-bomb", bomb(bombs.gzip_bomb, "gzip", plain), DONE | unreachable),
        ("robots-patterns", whole(pattern_robots(), plain), DONE | {"robots"}),
        ("robots-endless", repeated(head(200, {"Content-Type": plain}), b"# x\n" * 16384), DONE | unreachable),
        ("robots-slow", dripped(head(200, {"Content-Type": plain}), b"#"), DONE | unreachable),
        ("robots-500", lambda asked, port: TimedReply(site_answer("", 500)), unreachable),
        ("robots-reset", raw(b"", reset=True), unreachable),
        ("robots-binary", whole(bytes(range(256)) * 1000, plain), DONE),
        ("robots-metadata", redirect("http://169.254.169.254/robots.txt"), DONE | unreachable),
    ]
    return [Trap(name, ROBOTS_PAGES, ends, robots=serve) for name, serve, ends in robots]


def _liars() -> list[Trap]:
    """Answers that are not what they say, or no HTTP at all."""
    html = {"Content-Type": "text/html"}
    half, chunked = b"<title>half</title>", head(200, {**html, "Transfer-Encoding": "chunked"})
    packed = b"".join(bombs.gzip_bomb(4 * 1024**2))
    two_lengths = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nhello"
    bad_coding = frozenset({"bad-content-encoding"})
    return [
        Trap("truncated-body", raw(head(200, {**html, "Content-Length": "5000"}) + half), BROKEN),
        Trap("truncated-chunks", raw(chunked + b"1000\r\n" + half), BROKEN),
        Trap("no-last-chunk", raw(chunked + b"13\r\n" + half + b"\r\n"), BROKEN),
        Trap("bad-chunks", raw(chunked + b"ZZZ\r\n" + half + b"\r\n0\r\n\r\n"), BROKEN),
        Trap("huge-chunk-size", raw(chunked + b"f" * 40 + b"\r\n" + half), BROKEN | {"too-large"}),
        Trap("closed-at-once", raw(b""), BROKEN),
        Trap("reset-at-once", raw(b"", reset=True), BROKEN | {"connect"}),
        Trap("reset-in-body", raw(head(200, {**html, "Content-Length": "5000"}) + half, reset=True), BROKEN),
        Trap("too-much-body", raw(head(200, {**html, "Content-Length": "10"}) + half * 10), DONE | BROKEN),
        Trap("negative-length", raw(head(200, {**html, "Content-Length": "-5"}) + half), BROKEN),
        Trap("two-lengths", raw(two_lengths), BROKEN | DONE),
        Trap("not-http", raw(b"SSH-2.0-OpenSSH_9.2\r\n"), BROKEN),
        Trap("no-head", raw(b"<html><title>HTTP 0.9</title></html>"), BROKEN),
        Trap("unknown-encoding", whole(half, Content_Encoding="x-rot13"), bad_coding | DONE),
        Trap("false-gzip", whole(half, Content_Encoding="gzip"), bad_coding),
        Trap("truncated-gzip", whole(packed[: len(packed) // 2], Content_Encoding="gzip"), bad_coding | DONE),
        Trap("many-encodings", whole(half, Content_Encoding=", ".join(["gzip"] * 1000)), bad_coding),
    ]
