"""Failed pages of a crawl that is not running, queued anew in its data folder."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from p2pcrawl.core.control import OVER, RUNNING
from p2pcrawl.frontier.database.schema import FILE, damaged
from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.job import settings_of, unpack_spec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.reason_choice import ReasonChoice


def take_up_failed(folder: Path, choice: ReasonChoice) -> int:
    """Queues the failed pages of all jobs of a folder anew, durably, and returns how many; a job that had finished runs
    again when it is gone on with. Raises ConfigurationError for a folder without a crawl, and as the store does when it
    is in use.
    """
    if not (folder / FILE).is_file():
        raise ConfigurationError(f"{folder} is not a p2pcrawl data folder (there is no {FILE} in it)")
    retried = 0
    with closing(Store(folder)) as store:
        for job, name, packed, state, _ in store.jobs():
            try:
                order = settings_of(unpack_spec(packed)).queue_order
            except (msgspec.MsgspecError, ConfigurationError) as error:
                raise damaged(folder / FILE, f"job {name}: {error}") from error
            changes, _ = store.retry(job, {job: order}, choice)
            retried += changes["queued"]
            if changes["queued"] and state in OVER:
                batch = Batch()
                batch.states[job] = (RUNNING, "")
                store.commit(batch)
    return retried
