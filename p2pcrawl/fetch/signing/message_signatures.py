"""Signature bases of HTTP Message Signatures (RFC 9421): the bytes that are signed, and the headers that say so.

A component is an identifier as it stands in ``Signature-Input`` (``"@authority"``, ``"signature-agent";key="bot"``) and
its value. Everything is written here and nothing is read.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

Components = Sequence[tuple[str, str]]
"""Identifiers, in the order in which they are signed, with their values."""
Parameters = Sequence[tuple[str, int | str]]

_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def signature_params(components: Components, parameters: Parameters) -> str:
    """Writes what is signed, and the parameters of the signature, as an inner list of structured fields."""
    names = " ".join(name for name, _ in components)
    told = "".join(f";{name}={_bare(value)}" for name, value in parameters)
    return f"({names}){told}"


def signature_base(components: Components, params: str) -> bytes:
    """Returns the bytes to be signed. Raises ValueError for values that no header can hold."""
    lines = [f"{name}: {value}" for name, value in components]
    base = "\n".join([*lines, f'"@signature-params": {params}'])
    if not base.isascii() or base.count("\n") != len(components) or "\r" in base:
        raise ValueError("what is signed has to be ASCII, and each part of it one line")
    return base.encode("ascii")


def byte_sequence(data: bytes) -> str:
    """Writes bytes as a structured field does."""
    return f":{b64encode(data).decode('ascii')}:"


def quoted(text: str) -> str:
    """Writes text as a string of structured fields. Raises ValueError for what is not printable ASCII."""
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"no header can hold {text!r}")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def authority_of(url: str, host: str = "") -> str:
    """Returns the ``@authority`` of a request for this URL; ``host``: its own Host header, if it brings one."""
    parts = urlsplit(url)
    named = (host or parts.netloc.rpartition("@")[2]).strip().lower()
    return named.removesuffix(_DEFAULT_PORTS.get(parts.scheme, ":"))


def derived(name: str, url: str, method: str) -> str:
    """Returns the value of one of SIGNED_PARTS for a request."""
    parts = urlsplit(url)
    path = parts.path or "/"
    match name:
        case "@method":
            return method
        case "@path":
            return path
        case "@query":
            return f"?{parts.query}"
        case "@scheme":
            return parts.scheme
        case "@request-target":
            return f"{path}?{parts.query}" if parts.query else path
        case _:
            return url.partition("#")[0]


def _bare(value: int | str) -> str:
    return str(value) if isinstance(value, int) else quoted(value)
