"""The form in which a page's past is with its record, and travels."""

from __future__ import annotations

import dataclasses

import msgspec

from p2pcrawl.model.page_past import PAST_MAX, VALIDATOR_MAX, PagePast

_encode = msgspec.msgpack.Encoder().encode
_FIELDS = dataclasses.fields(PagePast)
_decode = msgspec.msgpack.Decoder(tuple[str, str, bytes, int, int, int, float, float, float, int]).decode
_NONE = PagePast()


def packed_past(past: PagePast) -> bytes:
    """Packs it; b"" for one that says nothing."""
    if past == _NONE:
        return b""
    etag, modified, *rest = (getattr(past, each.name) for each in _FIELDS)
    short = (text if len(text) <= VALIDATOR_MAX else "" for text in (etag, modified))
    packed = _encode((*short, *rest))
    return packed if len(packed) <= PAST_MAX else _encode(("", "", *rest))


def past_in(packed: bytes) -> PagePast:
    """Reads what :func:`packed_past` returned; of anything else nothing is known."""
    if not packed:
        return _NONE
    try:
        return PagePast(*_decode(packed))
    except (msgspec.MsgspecError, ValueError):
        return _NONE
