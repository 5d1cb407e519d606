"""A site that means harm: each trap of ``tests.sites.traps`` at an address of its own, and five ordinary hosts.

The ordinary hosts show that nobody else suffers: all their pages must be fetched. It counts what was asked for, above
all that ``/private`` never was; how much of each endless answer was taken is counted too. Linux only: it needs many
loopback addresses. A crawl of it needs a limit of depth or pages, because calendars do not end.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.sites.server import (
    CONTROL,
    Asked,
    Server,
    Stream,
    TimedReply,
    Wire,
    control_reply,
    loopback_addresses,
    run_site,
    site_answer,
    site_parser,
)
from tests.sites.traps import Trap, traps

INDEX = "127.0.2.250"
ORDINARY = [f"127.0.2.{number}" for number in range(201, 206)]
ORDINARY_PAGES = 40
COUNTED_URLS_MAX = 100_000
FORBIDDEN = ("/private", "/latest")


class HostileSite:
    """``traps`` by name, ``trap_urls`` by name once started; ``ordinary`` are the URLs that must all be fetched."""

    def __init__(self, port: int = 0) -> None:
        found = traps()
        addresses = loopback_addresses("127.0.2", len(found))
        if len(addresses) < len(found):
            raise RuntimeError("the hostile site needs many loopback addresses, as Linux has them")
        self.traps: dict[str, Trap] = {trap.name: trap for trap in found}
        self._addresses = dict(zip(self.traps, addresses, strict=True))
        self._by_address = {address: self.traps[name] for name, address in self._addresses.items()}
        self._server = Server(self._answer, [*addresses, *ORDINARY, INDEX, CONTROL], port)
        self.hits: Counter[str] = Counter()
        """URLs and how often; beyond 100,000 of them only those already known are counted."""
        self.trap_hits: Counter[str] = Counter()
        """Requests by trap, robots.txt too."""
        self.sent_bytes: Counter[str] = Counter()
        """By trap: what ended streams could send, which says how much the client took."""
        self.forbidden_hits: list[str] = []
        """Requests that got through to what should be out of reach."""
        self.url = ""
        self.trap_urls: dict[str, str] = {}
        self.ordinary: set[str] = set()

    @property
    def hosts(self) -> list[str]:
        """All hosts that a crawl of the site may visit; the control address is not one of them."""
        return [INDEX, *ORDINARY, *self._addresses.values()]

    @property
    def control_url(self) -> str:
        return f"http://{CONTROL}:{self._server.port}"

    async def start(self) -> str:
        """Serves, and returns the URL of the index, which links to all traps and ordinary hosts."""
        port = await self._server.start()
        self.url = f"http://{INDEX}:{port}/"
        self.trap_urls = {n: f"http://{a}:{port}{self.traps[n].start}" for n, a in self._addresses.items()}
        self.ordinary = {f"http://{a}:{port}{_ordinary_path(n)}" for a in ORDINARY for n in range(ORDINARY_PAGES)}
        return self.url

    async def stop(self) -> None:
        await self._server.stop()

    def ready(self) -> dict[str, Any]:
        return {
            "start": self.url,
            "control": self.control_url,
            "hosts": self.hosts,
            "traps": {
                name: {"url": url, "ends": sorted(self.traps[name].ends), "then": sorted(self.traps[name].then)}
                for name, url in self.trap_urls.items()
            },
            "ordinary": sorted(self.ordinary),
        }

    def stats(self) -> dict[str, Any]:
        return {
            "requests": self.trap_hits.total(),
            "traps": dict(self.trap_hits),
            "sent_bytes": dict(self.sent_bytes),
            "forbidden": self.forbidden_hits[:100],
            "ordinary_hit": sum(1 for url in self.ordinary if self.hits[url]),
            "ordinary": len(self.ordinary),
            "ordinary_repeated": sum(1 for url in self.ordinary if self.hits[url] > 1),
        }

    def _answer(self, asked: Asked) -> TimedReply | Stream:
        if asked.address == CONTROL and asked.path.startswith("/_"):
            return control_reply(asked, {"/_stats": self.stats, "/_hits": lambda: dict(self.hits)})
        url = f"http://{asked.address}:{self._server.port}{asked.target}"
        if url in self.hits or len(self.hits) < COUNTED_URLS_MAX:
            self.hits[url] += 1
        if asked.address == CONTROL or asked.path.startswith(FORBIDDEN):
            self.forbidden_hits.append(url)
            return TimedReply(site_answer("<title>secret</title>you should not be here"))
        trap = self._by_address.get(asked.address)
        if trap is None:
            return self._ordinary_page(asked)
        self.trap_hits[trap.name] += 1
        if asked.path != "/robots.txt":
            serve = trap.serve
        elif trap.robots is not None:
            serve = trap.robots
        else:
            return TimedReply(site_answer("no robots.txt here", 404))
        reply = serve(asked, str(self._server.port))
        return reply if isinstance(reply, TimedReply) else self._counted(trap.name, reply)

    def _counted(self, name: str, stream: Stream) -> Stream:
        async def counted(wire: Wire) -> None:
            try:
                await stream(wire)
            finally:
                self.sent_bytes[name] += wire.sent_bytes

        return counted

    def _ordinary_page(self, asked: Asked) -> TimedReply:
        if asked.path == "/robots.txt":
            return TimedReply(site_answer("no robots.txt here", 404))
        if asked.address == INDEX:
            links = [*self.trap_urls.values(), *(f"http://{address}:{self._server.port}/" for address in ORDINARY)]
        elif asked.target in ORDINARY_PATHS:
            number = ORDINARY_PATHS[asked.target]
            links = [_ordinary_path(child) for child in (2 * number + 1, 2 * number + 2) if child < ORDINARY_PAGES]
        else:
            return TimedReply(site_answer("no such page", 404))
        anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
        return TimedReply(site_answer(f"<title>{asked.address}{asked.target}</title>{anchors}"))


def _ordinary_path(number: int) -> str:
    return f"/p{number}" if number else "/"


ORDINARY_PATHS = {_ordinary_path(number): number for number in range(ORDINARY_PAGES)}


def main() -> None:
    options = site_parser("A hostile site on loopback. Control: /_stats, /_hits").parse_args()
    run_site(HostileSite(options.port), options.until_eof)


if __name__ == "__main__":
    main()
