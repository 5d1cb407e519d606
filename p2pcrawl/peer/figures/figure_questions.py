"""The questions about figures that a master answers, to faces and to other masters."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from p2pcrawl.master.cluster import Cluster
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.asking import whole_number
from p2pcrawl.peer.answers.questions import Questions
from p2pcrawl.peer.figures.depths import Depths
from p2pcrawl.peer.figures.hosts_told import HostsTold
from p2pcrawl.peer.figures.newest import ITEMS, ITEMS_MAX, Newest
from p2pcrawl.peer.figures.reasons import Reasons
from p2pcrawl.peer.figures.standings_of_hosts import StandingsOfHosts
from p2pcrawl.peer.figures.statistics_told import StatisticsTold
from p2pcrawl.peer.figures.troubles import Troubles

QUESTIONS: Final = frozenset(
    {
        *("errors", "errors-here", "latest", "latest-here"),
        *("hosts", "hosts-here", "hosts-these", "host", "host-here"),
        *("statistics", "statistics-here"),
        *("reasons", "reasons-here", "outside-here"),
    }
)


class FigureQuestions:
    """Answers these questions."""

    def __init__(self, cluster: Cluster, questions: Questions, folder: Path) -> None:
        """``questions``: knows which job is meant."""
        self._job_of = questions.job_of
        self._troubles = Troubles(cluster.peers, folder)
        self._newest = Newest(cluster.peers, folder)
        self._standings = StandingsOfHosts(cluster, Depths(folder))
        self._statistics = StatisticsTold(cluster)
        self.reasons = Reasons(cluster, questions.counts, folder)
        self._hosts = HostsTold(cluster, self._standings)

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        """Raises ConfigurationError for a question that there is not, or that is about nothing."""
        match what:
            case "errors":
                return await self._troubles.of(self._job_of(arguments), arguments)
            case "errors-here":
                return await self._troubles.here(int(arguments["job"]), arguments)
            case "latest":
                return await self._newest.of(self._job_of(arguments), arguments)
            case "latest-here":
                limit = whole_number(arguments, "limit", ITEMS, ITEMS_MAX)
                return await self._newest.here(int(arguments["job"]), limit)
            case "hosts":
                return await self._hosts.hosts(self._job_of(arguments) if arguments.get("job") else None, arguments)
            case "hosts-here":
                return await self._hosts.here(arguments)
            case "hosts-these":
                return await self._hosts.these(arguments)
            case "statistics":
                return await self._statistics.of(self._job_of(arguments) if arguments.get("job") else None, arguments)
            case "statistics-here":
                return await self._statistics.here(arguments)
            case "reasons":
                return await self.reasons.of(self._job_of(arguments) if arguments.get("job") else None, arguments)
            case "reasons-here":
                return await self.reasons.here(arguments)
            case "outside-here":
                return await self.reasons.pages(arguments)
            case "host":
                return await self._hosts.host(str(arguments.get("host", "")))
            case "host-here":
                return await self._standings.one(int(arguments["key"]))
        raise ConfigurationError(f"there is no question {what!r}")
