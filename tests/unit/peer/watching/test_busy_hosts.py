"""The busiest hosts of a workbench, without a look at all of them each time."""

from __future__ import annotations

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.peer.watching.busy_hosts import PIECE, BusyHosts
from tests.unit.core.bench.benches import candidate, host_name, pace_of


def bench_of(hosts: int) -> Workbench:
    """A bench at which host number N has N pages to do, but for those beyond the tenth, which have one."""
    bench = Workbench()
    bench.open_job(1, pace_of())
    pages = [number if number <= 10 else 1 for number in range(1, hosts + 1)]
    bench.add(
        candidate(1000 * host + page, host=host) for host, count in enumerate(pages, start=1) for page in range(count)
    )
    return bench


async def test_hosts_with_most_to_do_come_first() -> None:
    busy = BusyHosts(bench_of(15))

    found = [seat.host.name for seat in await busy.first(3)]

    assert found == [host_name(10), host_name(9), host_name(8)]


async def test_ranking_goes_through_all_hosts_piece_by_piece() -> None:
    bench = bench_of(PIECE + 10)
    bench.add(candidate(10_000_000 + page, host=PIECE + 5) for page in range(20))

    first, *_ = await BusyHosts(bench).first(2)

    assert first.host.name == host_name(PIECE + 5)


async def test_host_that_has_nothing_to_do_any_more_is_left_out_at_once() -> None:
    bench = bench_of(3)
    busy = BusyHosts(bench)
    await busy.first(3)

    bench.drop_job(1)

    assert await busy.first(3) == []
