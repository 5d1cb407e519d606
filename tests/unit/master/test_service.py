"""What a master answers the others: every request, or one clear refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.master.service import Service
from p2pcrawl.wire.messages.ask import PeerRequest
from p2pcrawl.wire.messages.peer_messages import AskElectorate, Canvassed, ClusterMessage, Sync
from tests.unit.master.fake_slaves import page_of
from tests.unit.master.masters import town_of


@pytest.mark.parametrize("majority", [False, True])
async def test_every_request_of_a_master_has_one_that_answers_it(tmp_path: Path, majority: bool) -> None:
    """What is said of membership is answered below, in the overlay; of ballots, only where there are any."""
    requests = {message for message in ClusterMessage.__args__ if issubclass(message, PeerRequest)}
    answered_below = {Sync} if majority else {Sync, Canvassed, AskElectorate}

    async def tell(what: str, arguments: bytes) -> bytes:
        return b"{}"

    def answer(task: Any) -> Any:
        return page_of(task, [])

    async with town_of(tmp_path, "1", answer=answer, majority=majority) as (_town, (house,)):
        answers = Service(house.cluster, tell).answers()

    assert set(answers) == requests - answered_below
