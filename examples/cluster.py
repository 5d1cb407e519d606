"""Three masters in one script: a cluster without a centre, as small as it gets.

    python examples/cluster.py https://quotes.toscrape.com/

Each peer could as well be a process on another machine (p2pcrawl peer --join HOST:PORT); the job would not know.
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from p2pcrawl import Peer, Spider


class Titles(Spider):
    name = "titles"

    def parse(self, response):
        yield {"url": response.url, "title": response.title}
        yield response.follow_all(css="li.next a")


async def main(url: str) -> None:
    async with AsyncExitStack() as stack:
        peers: list[Peer] = []
        for _ in range(3):
            join = [peer.address for peer in peers]
            peers.append(await stack.enter_async_context(Peer(bind="127.0.0.1:0", join=join, role="master", slaves=1)))
        print(f"three masters: {', '.join(peer.address for peer in peers)}")
        job = await peers[0].submit(Titles, arguments={"start_urls": url})
        ended = await job.wait()
        async for item in job.items():
            print(f"{item['url']}  {item['title']}")
        print(f"the job is {ended['state']}, after {ended['pages']} pages")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
