"""What is begun in one generation of the buckets' ownership does not go on in the next."""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Iterator
from types import ModuleType

import pytest

from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.master.buckets import takeover, taking
from p2pcrawl.master.buckets.generation import ClaimedAnew, Generation
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import LinkError

ME = NodeId("1" * 40)


@pytest.fixture
def ownership() -> Ownership:
    return Ownership(ME)


async def test_what_is_waited_for_is_given_up_as_soon_as_the_generation_ends(ownership: Ownership) -> None:
    generation, never = Generation(ownership), asyncio.get_running_loop().create_future()
    waits = asyncio.ensure_future(generation.wait_for(never))
    await asyncio.sleep(0)

    ownership.claim_anew()
    generation.end()

    with pytest.raises(ClaimedAnew):
        await waits
    assert never.cancelled()


async def test_waits_are_given_up_in_the_order_in_which_they_began(ownership: Ownership) -> None:
    generation, loop, ended = Generation(ownership), asyncio.get_running_loop(), []

    async def wait_for(number: int) -> None:
        others = asyncio.gather(loop.create_future(), loop.create_future())
        others.add_done_callback(lambda _: ended.append(number))
        with pytest.raises(ClaimedAnew):
            await generation.wait_for(others)

    waits = [asyncio.ensure_future(wait_for(number)) for number in range(40)]
    await asyncio.sleep(0)
    ownership.claim_anew()
    generation.end()

    await asyncio.gather(*waits)
    assert ended == list(range(40))


async def test_what_is_being_stored_is_finished_and_nothing_follows_from_it(ownership: Ownership) -> None:
    generation, goes_on, stored = Generation(ownership), asyncio.Event(), []

    async def store() -> None:
        await goes_on.wait()
        stored.append(1)

    works = asyncio.ensure_future(generation.finish(store()))
    await asyncio.sleep(0)
    ownership.claim_anew()
    generation.end()
    goes_on.set()

    with pytest.raises(ClaimedAnew):
        await works
    assert stored == [1]


async def test_answer_that_comes_with_the_end_of_the_generation_is_none(ownership: Ownership) -> None:
    generation, answers = Generation(ownership), asyncio.get_running_loop().create_future()
    waits = asyncio.ensure_future(generation.wait_for(answers))
    await asyncio.sleep(0)

    answers.set_exception(LinkError("it hung up"))
    ownership.claim_anew()

    with pytest.raises(ClaimedAnew):
        await waits


async def test_as_long_as_it_lasts_all_comes_as_it_is(ownership: Ownership) -> None:
    generation, refuses = Generation(ownership), asyncio.get_running_loop().create_future()
    refuses.set_exception(LinkError("no"))

    assert await generation.wait_for(asyncio.sleep(0, "here")) == "here"
    assert await generation.finish(asyncio.sleep(0, "there")) == "there"
    with pytest.raises(LinkError, match="no"):
        await generation.wait_for(refuses)


async def test_who_is_cancelled_itself_leaves_no_wait_behind(ownership: Ownership) -> None:
    generation, never = Generation(ownership), asyncio.get_running_loop().create_future()
    waits = asyncio.ensure_future(generation.wait_for(never))
    await asyncio.sleep(0)

    waits.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waits
    assert never.cancelled()


def past_it(module: ModuleType) -> Iterator[str]:
    """Yields what functions await beside the generation that they work in."""
    for function in ast.walk(ast.parse(inspect.getsource(module))):
        if not isinstance(function, ast.AsyncFunctionDef):
            continue
        if not any(argument.arg == "generation" for argument in function.args.args):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Await) and "generation" not in ast.unparse(node.value):
                yield f"{function.name}: {ast.unparse(node)}"


@pytest.mark.parametrize("module", [takeover, taking])
def test_whoever_works_in_a_generation_awaits_nothing_past_it(module: ModuleType) -> None:
    assert list(past_it(module)) == []
