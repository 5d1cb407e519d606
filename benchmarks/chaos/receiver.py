"""A webhook receiver that keeps every item that it was brought, each time: ``python -m benchmarks.chaos.receiver HOST
PORT FILE``. A message is answered when it is on disk.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from aiohttp import web


def receiving(path: Path) -> web.Application:
    """Makes the application; ``path`` gets a line for each item: its key, its visit and its URL."""
    kept = open(path, "a")  # noqa: SIM115
    kept.write("\n")  # What a kill has cut off ends here.

    async def take(request: web.Request) -> web.Response:
        message: dict[str, Any] = json.loads(await request.read())
        for entry in message["data"]:
            kept.write(json.dumps([entry["key"], entry["visit"], entry["item"]["url"]]) + "\n")
        kept.flush()
        os.fsync(kept.fileno())
        return web.Response(status=204)

    application = web.Application(client_max_size=1 << 26)
    application.router.add_post("/items", take)
    return application


def received(path: Path) -> list[str]:
    """Returns the URLs of the items as a receiver has them that keeps of each key the latest visit."""
    latest: dict[str, tuple[int, str]] = {}
    for line in filter(None, path.read_text().splitlines()):
        try:
            key, visit, url = json.loads(line)
        except ValueError:
            continue  # A line that was cut off by a kill was not answered.
        if key not in latest or latest[key][0] <= visit:
            latest[key] = (visit, url)
    return [url for _, url in latest.values()]


if __name__ == "__main__":
    web.run_app(receiving(Path(sys.argv[3])), host=sys.argv[1], port=int(sys.argv[2]), print=None)
