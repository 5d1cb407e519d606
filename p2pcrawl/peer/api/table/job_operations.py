"""Operations on jobs: submit, look, steer, and fetch what came of them."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from p2pcrawl.model.boards.job_board import NAME_MAX as BOARD_NAME_MAX
from p2pcrawl.model.boards.job_board import TEXT_MAX
from p2pcrawl.peer.answers.board_calls import BoardChanged, BoardsAnswer
from p2pcrawl.peer.api.table.answer_shapes import (
    CertificateAnswer,
    ChangedJob,
    ClearedJob,
    FedJob,
    IdentifiedJob,
    JobAnswer,
    JobsAnswer,
    RetriedJob,
    SteeredJob,
    SubmittedJob,
)
from p2pcrawl.peer.api.table.operation import JOB, NDJSON, Operation, Parameter, Rank, RequestPart

BOARD: Final = Parameter(
    "board",
    Annotated[str, msgspec.Meta(min_length=1, max_length=BOARD_NAME_MAX)],
    "the board's name",
    RequestPart.PATH,
    required=True,
)


class SubmittedCrawl(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A crawl on its way into the cluster: URLs, or a spider's code, its project, or a module that all peers have."""

    name: str
    urls: list[str] = []
    file: str = ""
    code: str = ""
    module: str = ""
    module_digest: str = ""
    qualname: str = ""
    arguments: dict[str, str] = {}
    settings: dict[str, Any] = {}
    label: str = ""
    project: str = ""
    sinks: list[dict[str, Any]] = []
    boards: dict[str, str] = {}


class RetryWish(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The parts of a job that are tried again: its failed pages, or those that ended for one reason; or items that
    sinks have refused.
    """

    dead_letters: bool = False
    reason: Annotated[str, msgspec.Meta(max_length=40)] = ""


class ClearWish(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The queue to clear (index, detail or all), and whether the entries are visited again."""

    queue: str
    restart: bool = False


class NewSettings(msgspec.Struct, forbid_unknown_fields=True):
    """Settings to change, by their names."""

    settings: dict[str, Any]


class BoardText(msgspec.Struct, forbid_unknown_fields=True):
    """A board: the name of its file, which is its own unless it has another, and its text."""

    file: Annotated[str, msgspec.Meta(min_length=1, max_length=BOARD_NAME_MAX)]
    text: Annotated[str, msgspec.Meta(max_length=TEXT_MAX)]


class MoreUrls(msgspec.Struct, forbid_unknown_fields=True):
    """URLs to put into a job."""

    urls: list[str]


def _steering(verb: str, summary: str, body: Any = None, answer: Any = SteeredJob) -> Operation:
    path = f"/v1/jobs/{{job}}/{verb}"
    return Operation(f"{verb}Job", "POST", path, summary, Rank.CHANGE, verb, (JOB,), body, answer)


OPERATIONS: Final = (
    Operation(
        "listJobs",
        "GET",
        "/v1/jobs",
        "Lists all jobs, each counted over all masters",
        Rank.READ,
        "jobs",
        answer=JobsAnswer,
    ),
    Operation(
        "submitJob",
        "POST",
        "/v1/jobs",
        "Submits a crawl",
        Rank.CHANGE,
        "submit",
        body=SubmittedCrawl,
        answer=SubmittedJob,
    ),
    Operation(
        "getJob", "GET", "/v1/jobs/{job}", "Counts a job over all masters", Rank.READ, "job", (JOB,), answer=JobAnswer
    ),
    Operation(
        "identifyJob",
        "GET",
        "/v1/jobs/{job}/number",
        "Tells which job is called so, without counting it",
        Rank.READ,
        "known",
        (JOB,),
        answer=IdentifiedJob,
    ),
    Operation(
        "deleteJob",
        "DELETE",
        "/v1/jobs/{job}",
        "Deletes a job that is over, with all that was kept of it",
        Rank.CHANGE,
        "delete",
        (JOB, Parameter("force", bool, "also when items of it wait for a sink")),
        answer=SteeredJob,
    ),
    Operation(
        "getCertificate",
        "GET",
        "/v1/jobs/{job}/certificate",
        "Shows how a job ended, as its masters have signed it",
        Rank.READ,
        "certificate",
        (JOB,),
        answer=CertificateAnswer,
        conflicts=True,
    ),
    _steering("pause", "Begins nothing new of a job"),
    _steering("resume", "Goes on with a job"),
    _steering("cancel", "Ends a job for good"),
    _steering(
        "retry", "Visits the failed pages of a job once more, or sends its dead letters again", RetryWish, RetriedJob
    ),
    _steering("clear", "Drops what is queued of a job, and begins its entries anew if wanted", ClearWish, ClearedJob),
    Operation(
        "changeJobSettings",
        "PATCH",
        "/v1/jobs/{job}/settings",
        "Changes settings of a job while it runs",
        Rank.CHANGE,
        "set",
        (JOB,),
        NewSettings,
        answer=ChangedJob,
    ),
    Operation(
        "injectUrls",
        "POST",
        "/v1/jobs/{job}/urls",
        "Puts URLs into a job",
        Rank.CHANGE,
        "inject",
        (JOB,),
        MoreUrls,
        answer=FedJob,
    ),
    Operation(
        "listBoards",
        "GET",
        "/v1/jobs/{job}/boards",
        "Lists the boards of a job, with what each has brought",
        Rank.READ,
        "boards",
        (JOB,),
        answer=BoardsAnswer,
    ),
    Operation(
        "addBoard",
        "POST",
        "/v1/jobs/{job}/boards",
        "Adds a board to a job while it runs",
        Rank.CHANGE,
        "board-add",
        (JOB,),
        BoardText,
        answer=BoardChanged,
    ),
    Operation(
        "changeBoard",
        "PUT",
        "/v1/jobs/{job}/boards",
        "Changes a board of a job while it runs",
        Rank.CHANGE,
        "board-change",
        (JOB,),
        BoardText,
        answer=BoardChanged,
    ),
    Operation(
        "removeBoard",
        "DELETE",
        "/v1/jobs/{job}/boards/{board}",
        "Takes a board away from a job while it runs",
        Rank.CHANGE,
        "board-remove",
        (JOB, BOARD),
        answer=BoardChanged,
    ),
    Operation(
        "streamItems",
        "GET",
        "/v1/jobs/{job}/items",
        "Streams the items of a job, a line each, gathered from all masters",
        Rank.READ,
        "items",
        (JOB,),
        stream=NDJSON,
    ),
    Operation(
        "streamPages",
        "GET",
        "/v1/jobs/{job}/pages",
        "Streams the pages of a job that have items, a line each, with what is told of each",
        Rank.READ,
        "pages",
        (JOB,),
        stream=NDJSON,
    ),
    Operation(
        "streamReadPages",
        "GET",
        "/v1/jobs/{job}/read",
        "Streams the pages of a job that its callbacks got, whether they have items or not, a line each",
        Rank.READ,
        "read",
        (JOB,),
        stream=NDJSON,
    ),
)
