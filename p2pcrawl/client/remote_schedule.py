"""A schedule of a cluster, as a script outside of it has it in hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from p2pcrawl.client.remote_job import RemoteJob
from p2pcrawl.peer.schedules.schedule_calls import ScheduleAnswer

if TYPE_CHECKING:
    from p2pcrawl.client.peer_client import Client


class RemoteSchedule:
    """One schedule, by its name. Its methods raise as those of the client do: NotThere where there is none."""

    def __init__(self, cluster: Client, name: str) -> None:
        self._cluster = cluster
        self.name = name

    async def show(self) -> ScheduleAnswer:
        """Tells what it does, when, and what became of its last runs."""
        return cast(ScheduleAnswer, await self._cluster.ask(schedule_path(self.name)))

    async def pause(self) -> ScheduleAnswer:
        """Begins no run of it until :meth:`resume`."""
        return await self._steer("pause")

    async def resume(self) -> ScheduleAnswer:
        """Goes on with it; what was due meanwhile is not made up for."""
        return await self._steer("resume")

    async def run(self) -> RemoteJob:
        """Runs it now, out of its turn; returns the job that was begun, or fed."""
        told = await self._cluster.change("POST", schedule_path(self.name, "run"), {})
        return self._cluster.job(int(told["job"]))

    async def remove(self) -> ScheduleAnswer:
        """Removes it; the jobs that it has begun stay."""
        return cast(ScheduleAnswer, await self._cluster.change("DELETE", schedule_path(self.name)))

    async def _steer(self, verb: str) -> ScheduleAnswer:
        return cast(ScheduleAnswer, await self._cluster.change("POST", schedule_path(self.name, verb), {}))


def schedule_path(name: str, of: str = "") -> str:
    """Returns where the API has a schedule, or something of it."""
    return f"/v1/schedules/{quote(name, safe='')}" + (f"/{of}" if of else "")
