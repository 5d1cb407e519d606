"""What travels of hosts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.wire.messages.codec import FrameReader, encode
from p2pcrawl.wire.messages.peer_messages import Copy, WireHostNote


@given(st.text(max_size=20))
def test_note_of_any_host_can_travel(host: str) -> None:
    message = Copy(1, [], [WireHostNote(key_hash(host), 5, 0.5, 1.0, 2.0)])

    assert list(FrameReader().feed(encode(message))) == [message]
