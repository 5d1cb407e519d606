"""The form in which a page's past is with its record, and travels."""

from __future__ import annotations

import dataclasses

import msgspec

from p2pcrawl.model.page_past import ADAPTIVE, PAST_MAX, VALIDATOR_MAX, PagePast

_encode = msgspec.msgpack.Encoder().encode
_FIELDS = dataclasses.fields(PagePast)
_decode = msgspec.msgpack.Decoder(tuple[str, str, bytes, int, int, int, float, float, float, int, str]).decode
_NONE = PagePast()
_MOST = 1e15
"""No number of a past is beyond it: slaves tell it, and one may be broken."""


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
        past = PagePast(*_decode(packed))
    except msgspec.MsgspecError:
        return _NONE
    whole = (past.asked, past.period, past.gone, past.visits, past.changes, past.seconds)
    # What is not a number is in no bounds.
    sound = all(0 <= each <= _MOST for each in whole) and past.changes <= past.visits and ADAPTIVE <= past.own <= _MOST
    return past if sound else _NONE
