"""A crawl inside a web application: one request begins it, another streams its items while they come.

    python examples/web_app.py 8080
    curl -X POST 'localhost:8080/crawls?url=https://example.com/'
    curl localhost:8080/crawls/1

Each crawl is a task of the application's own loop; its pages are fetched and parsed in slave processes.
"""

import asyncio
import json
import sys

from aiohttp import web

from p2pcrawl import Crawler, P2PCrawlError, Spider


class Pages(Spider):
    name = "pages"
    custom_settings = {"DEPTH_LIMIT": 1, "CLOSESPIDER_PAGECOUNT": 50}

    def parse(self, response):
        yield {"url": response.url, "title": response.title}
        yield response.follow_all()


class Crawls:
    """The crawls of this application, with what they have brought so far."""

    def __init__(self) -> None:
        self._items: list[list[dict]] = []
        self._tasks: list[asyncio.Task] = []

    async def begin(self, request: web.Request) -> web.Response:
        try:
            crawler = Crawler(Pages, arguments={"start_urls": request.query["url"]}, slaves=1)
        except P2PCrawlError as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from error
        self._items.append([])
        self._tasks.append(asyncio.create_task(self._run(crawler, self._items[-1])))
        return web.json_response({"crawl": len(self._tasks)}, status=202)

    async def _run(self, crawler: Crawler, items: list[dict]) -> None:
        async with crawler:
            async for item in crawler.items():
                items.append(item)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """One line for each item, until the crawl has ended."""
        number = int(request.match_info["number"]) - 1
        if number not in range(len(self._tasks)):
            raise web.HTTPNotFound(text="there is no such crawl\n")
        answer = web.StreamResponse(headers={"Content-Type": "application/jsonl"})
        await answer.prepare(request)
        items, task, sent = self._items[number], self._tasks[number], 0
        while sent < len(items) or not task.done():
            for item in items[sent:]:
                await answer.write(json.dumps(item).encode() + b"\n")
                sent += 1
            await asyncio.wait([task], timeout=0.2)
        return answer

    async def close(self, app: web.Application) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def application() -> web.Application:
    crawls = Crawls()
    app = web.Application()
    app.router.add_post("/crawls", crawls.begin)
    app.router.add_get(r"/crawls/{number:\d+}", crawls.stream)
    app.on_cleanup.append(crawls.close)
    return app


if __name__ == "__main__":
    web.run_app(application(), host="127.0.0.1", port=int(sys.argv[1]))
