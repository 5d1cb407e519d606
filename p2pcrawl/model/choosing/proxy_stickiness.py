"""The choices of how long requests keep to one proxy of a pool."""

from __future__ import annotations

from enum import StrEnum


class ProxyStickiness(StrEnum):
    """The requests that go through the same proxy, as long as it can be used."""

    SESSION = "session"
    """Those of a session or a cookie jar, by meta["session"] and meta["cookiejar"]; others through any."""
    HOST = "host"
    NONE = "none"
