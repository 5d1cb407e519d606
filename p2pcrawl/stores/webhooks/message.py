"""The messages that a webhook is posted: what one holds, its name, and its signature.

A message is a JSON object, always of one form, however many items it brings::

    {"type": "items", "job": "<hex>", "spider": "books",
     "data": [{"key": "...", "page": "<hex>", "visit": 0, "url": "...", "fetched_at": 1700000000, "item": {...}}],
     "replaced": [{"page": "<hex>", "visit": 2}]}

Its bytes depend on nothing but what it brings, so one that is sent again is the same to the byte, and has the same
name. Names, time and signature are headers in the manner of Standard Webhooks (https://www.standardwebhooks.com).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.sink import SinkPage

PING: Final = b'{"type":"ping","data":[]}'
_SECRET_PREFIX: Final = "whsec_"


@dataclass(frozen=True, slots=True)
class BroughtItem:
    """An item on its way to a webhook, and where it came from."""

    page: SinkPage
    place: int
    """In ``page.items``."""
    text: bytes
    """The element of ``data`` that it becomes."""


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """Some items that are posted together, and the pages whose earlier visits they replace."""

    items: Sequence[BroughtItem]
    replacing: Sequence[SinkPage] = ()

    def halves(self) -> tuple[WebhookMessage, WebhookMessage]:
        """Splits a message that was refused, to find out which item it was for."""
        middle = len(self.items) // 2
        return WebhookMessage(self.items[:middle], self.replacing), WebhookMessage(self.items[middle:])

    @property
    def idempotency_key(self) -> str:
        """The key of the one item that the message brings, in its visit; empty for several."""
        if len(self.items) != 1 or self.replacing:
            return ""
        (item,) = self.items
        return item.page.key(item.place, history=True)

    def body(self, spider: str) -> bytes:
        """Builds the JSON that is posted."""
        page = self.items[0].page if self.items else self.replacing[0]
        head = json.dumps({"type": "items", "job": page.job, "spider": spider}, separators=(",", ":"))[:-1].encode()
        replaced = [{"page": page.fingerprint, "visit": page.visit} for page in self.replacing]
        tail = json.dumps(replaced, separators=(",", ":")).encode()
        data = b",".join([item.text for item in self.items])
        return b"".join((head, b',"data":[', data, b'],"replaced":', tail, b"}"))


def messages_of(
    pages: Sequence[SinkPage], *, history: bool, items_max: int, bytes_max: int
) -> Iterator[WebhookMessage]:
    """Cuts the items of pages into messages, in their order. An item too large for any has one of its own."""
    items: list[BroughtItem] = []
    replacing: list[SinkPage] = []
    size = 0
    for page in pages:
        if page.visit and not history:
            replacing.append(page)
        for item in _brought(page, history=history):
            if items and (len(items) >= items_max or size + len(item.text) > bytes_max):
                yield WebhookMessage(items, replacing)
                items, replacing, size = [], [], 0
            items.append(item)
            size += len(item.text)
    if items or replacing:
        yield WebhookMessage(items, replacing)


def _brought(page: SinkPage, *, history: bool) -> Iterator[BroughtItem]:
    common = {"page": page.fingerprint, "visit": page.visit, "url": page.url, "fetched_at": page.fetched_at}
    rest = json.dumps(common, separators=(",", ":"))[1:-1].encode()
    for place, item in enumerate(page.items):
        key = page.key(place, history=history).encode()
        yield BroughtItem(page, place, b'{"key":"%b",%b,"item":%b}' % (key, rest, item))


class Signer:
    """The secrets by which a receiver knows our messages. Raises ConfigurationError for one that cannot be used.

    ``secrets``: with spaces between them; each signs, so that a receiver may go from one to the next. One that begins
    with ``whsec_`` is in base64, another one is taken as it is.
    """

    def __init__(self, secrets: str) -> None:
        self._secrets = [_secret(text) for text in secrets.split()]

    def headers(self, body: bytes, seconds: int, idempotency_key: str = "") -> dict[str, str]:
        """Returns the headers of a message: its name, which depends on its bytes alone, its time and its signatures."""
        name = f"msg_{hashlib.sha256(body).hexdigest()[:32]}"
        found = {
            "Content-Type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": str(seconds),
            "Idempotency-Key": idempotency_key or name,
        }
        if self._secrets:
            signed = f"{name}.{seconds}.".encode() + body
            found["webhook-signature"] = " ".join(f"v1,{_signature(secret, signed)}" for secret in self._secrets)
        return found


def _signature(secret: bytes, signed: bytes) -> str:
    return base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


def _secret(text: str) -> bytes:
    if not text.startswith(_SECRET_PREFIX):
        return text.encode()
    try:
        secret = base64.b64decode(text.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if not secret:
        raise ConfigurationError("the webhook's secret begins with whsec_, but what follows is not base64")
    return secret
