"""The last warnings of the log, of all masters: what nobody saw who has one terminal open."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypedDict

from msgspec import Meta, Struct
from msgspec.json import Decoder

from p2pcrawl.model.printable import on_one_line
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.peer.answers.asking import ask_others, whole_number

KEPT: Final = 200
GIVEN: Final = 100
GIVEN_MAX: Final = 1_000
TEXT_MAX: Final = 1_000
"""Characters of a line."""
OURS: Final = "p2pcrawl"


class WarningLine(TypedDict):
    """A line of a master's log, at WARNING or above. ``at``: in seconds since 1970."""

    at: float
    peer: str
    level: str
    logger: str
    text: str


class WarningsAnswer(TypedDict):
    """The last lines of all masters, the oldest first."""

    warnings: list[WarningLine]


class WarningHere(Struct):
    """A line, as a master tells its own."""

    at: float
    level: str
    logger: str
    text: str


class WarningsHere(Struct):
    """The last lines of one master."""

    lines: Annotated[list[WarningHere], Meta(max_length=KEPT)]


_HERE = Decoder(WarningsHere)


class WarningLines(logging.Handler):
    """Keeps the last lines of this process, from :meth:`open` to :meth:`close`."""

    def __init__(self, peers: Peers) -> None:
        super().__init__(logging.WARNING)
        self._peers = peers
        self._lines: deque[tuple[float, str, str, str]] = deque(maxlen=KEPT)

    def open(self) -> None:
        logging.getLogger(OURS).addHandler(self)

    def close(self) -> None:
        logging.getLogger(OURS).removeHandler(self)
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()[:TEXT_MAX]
        except Exception:
            self.handleError(record)
            return
        self._lines.append((record.created, record.levelname, record.name, text))

    def here(self) -> WarningsHere:
        """Returns this master's own, with nothing in them that is secret or obeyed by a terminal."""
        return WarningsHere([WarningHere(at, level, name, on_one_line(text)) for at, level, name, text in self._lines])

    async def answer(self, arguments: Mapping[str, Any]) -> WarningsAnswer:
        """Answers with the last lines of all masters, ``limit`` of them. Raises ConfigurationError for what is no
        number.
        """
        limit = whole_number(arguments, "limit", GIVEN, GIVEN_MAX)
        told, _ = await ask_others(self._peers, "warnings-here", {}, _HERE)
        parts = {self._peers.me: self.here(), **told}
        lines = [
            WarningLine(at=round(line.at, 3), peer=node, level=line.level, logger=line.logger, text=line.text)
            for node, part in parts.items()
            for line in part.lines
        ]
        return WarningsAnswer(warnings=sorted(lines, key=lambda line: line["at"])[-limit:])
