"""The items that rates of sinks are measured with."""

from __future__ import annotations

from typing import Any


def book(number: int) -> dict[str, Any]:
    """Makes an item of the usual kind, about 600 bytes of JSON."""
    return {
        "name": f"A light in the attic {number}",
        "cover": f"http://books.example/media/cache/fe/72/{number:032x}.jpg",
        "price": round(10 + number % 5000 / 100, 2),
        "author": "Shel Silverstein",
        "description": "It's hard to imagine a world without A Light in the Attic. " * 6,
        "available": number % 20,
    }
