"""An operation of the API as a value: where it is, who may call it, what it takes, and what it answers.

The server is made from these, and so is the document that describes it: what one says is what the other does. An
operation is a question (GET) or a call that changes something; what it does, the peer says, by the word ``what``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

NDJSON: Final = "application/x-ndjson"
CALLED_MAX: Final = 200
"""Characters by which a job can be called."""


class Rank(StrEnum):
    """The kinds of callers, by what they have to show."""

    OPEN = "open"
    READ = "read"
    CHANGE = "change"


class RequestPart(StrEnum):
    """The parts of a request where a parameter can be."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, with its type and bounds (``Annotated[int, msgspec.Meta(...)]``)."""

    name: str
    kind: Any
    summary: str
    part: RequestPart = RequestPart.QUERY
    required: bool = False
    argument: str = ""
    """The name by which the peer knows it, where that is another one."""

    @property
    def told_as(self) -> str:
        return self.argument or self.name


@dataclass(frozen=True, slots=True)
class Operation:
    """A line of the table."""

    id: str
    method: str
    path: str
    summary: str
    rank: Rank
    what: str = ""
    """The word by which the peer is asked or told; "" for what the API answers by itself."""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the JSON object that a change may bring; None where it brings none."""
    answer: Any = Mapping[str, Any]
    """The type of the JSON answer."""
    unready: bool = False
    """Whether an answer that says that it is not ``ready`` has the status 503."""
    conflicts: bool = False
    """Whether a question can be one that has no answer yet."""
    stream: str = ""
    """The media type, where pieces are sent as they come in place of one JSON answer."""

    @property
    def changes(self) -> bool:
        return self.method != "GET"

    @property
    def refusals(self) -> list[int]:
        """The statuses with which a call of it may be refused."""
        found = {400, 403, 503}
        if self.rank is not Rank.OPEN:
            found.add(401)
        if self.changes:
            found |= {408, 409, 413}
        if self.conflicts:
            found.add(409)
        if self.unready:
            found.remove(503)
        if any(each.part is RequestPart.PATH for each in self.parameters):
            found.add(404)
        return sorted(found)


JOB: Final = Parameter(
    "job",
    Annotated[str, msgspec.Meta(min_length=1, max_length=CALLED_MAX)],
    "the job's number or how it begins, its name, its spider's name if no other job has that, or `last`",
    RequestPart.PATH,
    required=True,
)
