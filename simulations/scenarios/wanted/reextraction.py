"""The pages of a job, whose answers the machines have stored, are read by another job while masters die.

First the run's own job, while masters die; each machine keeps the answers that it got. Then a job with another spider
reads them in place of the web. Before it begins a disk may be lost, or a machine be away that comes back, and
meanwhile masters die, one maybe with its disk, stand still or are cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from p2pcrawl.core.control import ENDS
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Failure
from p2pcrawl.peer.answers.submission import submission_of

from ...observe.folders import Record, read_folder
from ...observe.raw_pages import FOLDER, StoredAnswer, stored_in
from ...play.other_jobs import AGENT
from ...play.scenario import Scenario
from ...play.spiders import Rereader, page_of
from ...play.stage import Stage
from ...play.wanted import READING, Rereading
from ...world.machines import Machine
from ...world.web import has_failed
from ..swarm import crash, cut, pause

ROUNDS = 3
AWAY_S = 8.0
SOON_S = 2.0
AGAIN_S = 15.0
AGAIN_TIMES = 20
"""How often, and how long after each other, pages are tried again whose answers may be on a machine that is away."""
THROUGH_S = 900.0
"""For how long the end of the job is waited for."""


async def faults(stage: Stage) -> None:
    for share in (0.3, 0.6):
        await stage.progress(share)
        await crash(stage)
        await stage.agree()
    await stage.until(lambda: stage.finished)
    await stage.sync()
    pages = frozenset(page_of(str(item["url"])) for item in await stage.some(1)[0].results(stage.job))
    lost, away = list[Machine](), list[Machine]()
    match stage.random.choice(("kept", "kept", "lost", "away")):
        case "lost":
            lost = stage.some(1)
            stage.wipe(lost)
            await stage.pause(AWAY_S)
            stage.start(lost[0])
            await stage.sync()
        case "away":
            away = stage.some(1)
            stage.crash(away)
            await stage.agree()
    before = {machine.name: list(stored_in(machine.folder / FOLDER)) for machine in stage.machines}
    job = await begun(stage)
    if away:
        await stage.pause(AWAY_S)
        stage.start(away[0])
    for turn in range(ROUNDS):
        await stage.pause(SOON_S)
        if turn == ROUNDS - 1 and not lost and stage.unharmed and stage.random.random() < 0.5:
            lost = stage.some(1)
            stage.wipe(lost)
            await stage.pause(AWAY_S)
        else:
            await stage.random.choice((crash, crash, pause, cut))(stage)
        stage.heal()
        await stage.sync()
    with suppress(TimeoutError):
        async with asyncio.timeout(THROUGH_S):
            await stage.until(lambda: all(stage.state(machine, job) in ENDS for machine in stage.up))
    await stage.sync()
    stage.rereadings.append(await told(stage, job, pages, safe(before, {machine.name for machine in lost})))


async def begun(stage: Stage) -> int:
    """Gives the masters a job that reads stored pages."""
    chosen = {
        "STORED_PAGES_OF": stage.job,
        "USER_AGENT": f"{AGENT} ({READING})",
        "CONCURRENT_REQUESTS": 2,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "RETRY_ENABLED": False,
        "RETRY_FAILED_AFTER": AGAIN_S,
        "RETRY_FAILED_TIMES": AGAIN_TIMES,
        "RETRY_FAILED_REASONS": (Failure.RAW_PAGE_AWAY.value,),
    }
    start = {"start_urls": " ".join(stage.web.starts)}
    submission = submission_of(Rereader, Settings(), chosen, start, label=READING)
    number: int = (await stage.some(1)[0].tell("submit", submission.plain()))["job"]
    return number


def safe(before: Mapping[str, list[StoredAnswer]], lost: set[str]) -> frozenset[str]:
    """Returns the pages whose last answer nobody has lost. One that failed is no page's last: slaves on machines of
    their own keep what they get where no master looks at it.
    """
    last: dict[str, tuple[str, str, int]] = {}
    for name, answers in before.items():
        for answer in answers:
            last[answer.url] = max(last.get(answer.url, ("", "", 0)), (answer.date, name, answer.status))
    return frozenset(url for url, (_, name, status) in last.items() if name not in lost and not has_failed(status))


async def told(stage: Stage, job: int, pages: frozenset[str], stored: frozenset[str]) -> Rereading:
    """Gathers what has become of the job."""
    records: dict[str, Record] = {}
    for machine in stage.up:
        for record in read_folder(machine.folder, job).records.values():
            known = records.get(record.url)
            if known is None or known.phase < record.phase:
                records[record.url] = record
    return Rereading(
        pages,
        stored,
        {machine.name: stage.state(machine, job) for machine in stage.up},
        records,
        await stage.some(1)[0].results(job),
        {machine.name: (await machine.ask("job", {"job": job}))["failed_by_reason"] for machine in stage.up},
    )


SCENARIO = Scenario(
    "the stored pages of a job are read by another one while masters die, some with what they have stored",
    faults,
    replicas_min=2,
    masters_min=3,
    keeps_raw_pages=True,
    share=0.1,
)
