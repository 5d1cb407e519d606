"""Some slaves lie: they report what they were not leased, the same twice, under sessions that are over, or nonsense."""

from __future__ import annotations

from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.overlay.node import Credentials

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.liars import Liar, Lie
from ...world.slaves import MakeSlave, SlaveMachine


async def faults(stage: Stage) -> None:
    lies: dict[str, int] = {}
    stage.figures["lies"] = lies

    def liar_of(machine: SlaveMachine) -> MakeSlave:
        def lied(lie: Lie) -> None:
            lies[lie.name] = lies.get(lie.name, 0) + 1
            if lie.gross:
                stage.stumble(machine, lie.name)

        def liar(credentials: Credentials, open_fetcher: OpenFetcher) -> Liar:
            return Liar(credentials, open_fetcher, lied)

        return liar

    for machine in stage.random.sample(stage.up_slaves, -(-len(stage.up_slaves) // 3)):
        await stage.leave(machine)
        machine.make_slave = liar_of(machine)
        stage.start(machine)
    await stage.progress(1.0)


SCENARIO = Scenario("a third of the slaves lie to their masters", faults, slaves_min=2)
