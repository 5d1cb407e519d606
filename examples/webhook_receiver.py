"""A receiver of webhooks: it sees who posts, and keeps each item once, in SQLite.

HOOK=hush python examples/webhook_receiver.py 8080 items.db
HOOK=hush p2pcrawl crawl quotes.py -o 'http://localhost:8080/items?password_env=HOOK'
"""

import base64
import hashlib
import hmac
import json
import os
import sqlite3
import sys
import time

from aiohttp import web

TABLES = """
    CREATE TABLE IF NOT EXISTS items
    (key TEXT PRIMARY KEY, page TEXT, visit INTEGER, url TEXT, fetched_at INTEGER, item TEXT);
    CREATE TABLE IF NOT EXISTS replaced (page TEXT PRIMARY KEY, visit INTEGER)"""
FORGET = """INSERT INTO replaced VALUES (:page, :visit) ON CONFLICT (page) DO UPDATE
            SET visit = max(visit, excluded.visit)"""
TAKE = """INSERT INTO items SELECT :key, :page, :visit, :url, :fetched_at, :item
          WHERE NOT EXISTS (SELECT 1 FROM replaced WHERE page = :page AND visit > :visit)
          ON CONFLICT (key) DO UPDATE SET visit = excluded.visit, item = excluded.item, fetched_at = excluded.fetched_at
          WHERE excluded.visit >= visit"""


def genuine(headers, body, secret):
    """Tells whether whoever signed knows the secret, and did so within five minutes."""
    name, seconds = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signature = hmac.new(secret.encode(), f"{name}.{seconds}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(signature).decode()
    signed = any(
        hmac.compare_digest(expected.encode(), given.encode()) for given in headers.get("webhook-signature", "").split()
    )
    return signed and seconds.isdigit() and abs(time.time() - int(seconds)) < 300


def application(path, secret):
    database = sqlite3.connect(path)
    database.executescript(TABLES)

    async def take(request):
        body = await request.read()
        if not genuine(request.headers, body, secret):
            return web.Response(status=401)
        message = json.loads(body)
        with database:  # All of a message, or nothing of it.
            for page in message.get("replaced", ()):
                database.execute(FORGET, page)
                database.execute("DELETE FROM items WHERE page = :page AND visit < :visit", page)
            for entry in message["data"]:
                database.execute(TAKE, {**entry, "item": json.dumps(entry["item"])})
        return web.Response(status=204)

    async def close(app):
        database.close()

    app = web.Application(client_max_size=1 << 26)
    app.on_cleanup.append(close)
    app.router.add_post("/items", take)
    return app


if __name__ == "__main__":
    web.run_app(application(sys.argv[2], os.environ["HOOK"]), host="127.0.0.1", port=int(sys.argv[1]))
