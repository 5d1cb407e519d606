"""Requests name their replies, and no other is taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.ask import Answered, PeerReply, PeerRequest, due, reply_type
from p2pcrawl.wire.messages.peer_messages import ClusterMessage, Copied, Copy, Query, Repaid

MESSAGES: list[Any] = list(ClusterMessage.__args__)
REQUESTS = [message for message in MESSAGES if issubclass(message, PeerRequest)]


@pytest.mark.parametrize("request_type", REQUESTS)
def test_every_request_names_a_reply_that_can_arrive(request_type: Any) -> None:
    assert issubclass(reply_type(request_type), PeerReply)
    assert reply_type(request_type) in MESSAGES


def test_every_reply_is_that_of_some_request() -> None:
    replies = {message for message in MESSAGES if issubclass(message, PeerReply)}

    assert replies == {reply_type(request) for request in REQUESTS}


def test_number_of_a_request_comes_first_in_it_and_in_its_reply() -> None:
    both = REQUESTS + [reply_type(request) for request in REQUESTS]

    assert {each.__struct_fields__[0] for each in both} == {"id"}


def test_reply_that_is_due_is_taken() -> None:
    reply = Copied(3)

    assert due(Copy, reply, "it") is reply


def test_reply_to_another_request_is_an_error_of_the_link() -> None:
    with pytest.raises(LinkError, match="it answered Copy with Repaid"):
        due(Copy, Repaid(3), "it")


def test_refusal_says_why() -> None:
    with pytest.raises(LinkError, match="it refused Copy: no room"):
        due(Copy, Answered(3, b"", "no room"), "it")


def test_refused_question_is_answered_all_the_same() -> None:
    refusal = Answered(3, b"", "there is no such job", usage=True)

    assert due(Query, refusal, "it") is refusal
