"""A simulated cluster with faults of one's own: two of four masters lose power in the middle of a crawl.

    python examples/two_lose_power.py 5      # the seed: the same number gives the same run, wherever it is played

Minutes of the cluster's time pass in seconds of yours; docs/simulation.md tells what is simulated and what is checked.
"""

import asyncio
import sys

from simulations import Options, Plan, Simulation, Stage, WebPlan


async def two_lose_power(stage: Stage) -> None:
    await stage.progress(0.3)  # until 30 % of the pages have answered
    stage.crash(stage.some(2), power=True)
    await asyncio.sleep(20.0)  # virtual seconds; who is away when this returns is started again


def main(seed: int) -> int:
    plan = Plan(
        Options(scenario="two lose power", seed=seed, masters=4, replicas=3),
        faults=two_lose_power,
        web=WebPlan(pages=80, hosts=8),
    )
    report = Simulation(plan).run()
    for violation in report.violations:
        print(f"amiss: {violation}")
    for detection in report.series.detections:
        print(f"{detection.name} was away at {detection.began_s:.0f} s, noticed after {detection.last_s:.1f} s")
    print(f"{len(report.items)} items; {report.figures['refetched']} pages were fetched again")
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
