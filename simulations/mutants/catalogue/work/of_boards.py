"""Mistakes in how boards of a job are added, changed and taken away while it runs."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_VERSIONS = "p2pcrawl.core.board_versions:"
_KEEPING = "p2pcrawl.master.board_changes.board_keeping:BoardKeeping."
_JOBS = "p2pcrawl.slave.work.jobs:Jobs."

MUTANTS = (
    Mutant(
        name="board-versions-ignored",
        kind=Slip.FENCE,
        where=_VERSIONS + "_rank",
        old="return board.version, board.closed,",
        new="return 0, board.closed,",
        harm="A board that was taken away never comes back, and of two texts the greater one stays.",
    ),
    Mutant(
        name="board-version-of-the-clock",
        kind=Slip.FENCE,
        where=_VERSIONS + "with_board",
        old="now[name].version + 1 if name in now else 1",
        new="1",
        harm="Who has a clock that is behind changes a board, is told that it is so, and nothing is.",
    ),
    Mutant(
        name="boards-not-on-disk",
        kind=Slip.EARLY,
        where="p2pcrawl.master.jobs.admission:Admission.take_boards",
        old="            await self._stored()\n",
        new="            pass\n",
        harm="Whoever was asked, or has heard of it, forgets a change in a crash.",
    ),
    Mutant(
        name="board-told-to-nobody-first",
        kind=Slip.QUORUM,
        where=_KEEPING + "put",
        old="                await self._spread(job)\n",
        new="                pass\n",
        harm="A change is lost with the disk of the one that has said that it is made.",
    ),
    Mutant(
        name="board-change-never-told",
        kind=Slip.SIDE,
        where="p2pcrawl.master.jobs.job:told_now",
        old='blake2b(packed, digest_size=16).digest() if packed else b""',
        new='b""',
        harm="Who was away when a board was changed is taken to know it.",
    ),
    Mutant(
        name="late-links-of-a-board-kept",
        kind=Slip.RACE,
        where="p2pcrawl.master.boards.job_boards:note_late",
        old="if board.closed and mark_in(job, name) in marks",
        new="if board.closed and name in marks",
        harm="What comes of a board behind its end waits for its host's delay, and the job ends that much later.",
    ),
    Mutant(
        name="board-entries-by-the-first-only",
        kind=Slip.RETRY,
        where=_KEEPING + "settle",
        old="elif anyway or self._leads():",
        new="elif anyway:",
        harm="The entries of a board are never put in where the one that was asked has died.",
    ),
    Mutant(
        name="board-entries-later",
        kind=Slip.EARLY,
        where=_KEEPING + "settle",
        old="elif anyway or self._leads():",
        new="elif self._leads():",
        harm="A change is said to be made before its entries are safe.",
    ),
    Mutant(
        name="boards-not-looked-after",
        kind=Slip.RETRY,
        where=_KEEPING + "look_after",
        old="for name in job.unsettled:",
        new="for name in job.unsettled[:0]:",
        harm="Only the master that was asked drops the queue of a board that is taken away.",
    ),
    Mutant(
        name="board-texts-not-compared",
        kind=Slip.CHECK,
        where=_JOBS + "open",
        old="if spec.boards != self._specs[spec.id].boards:",
        new="if len(spec.boards) != len(self._specs[spec.id].boards):",
        harm="Slaves read pages by the text that a board had when they opened the job.",
    ),
    Mutant(
        name="gone-boards-asked-for",
        kind=Slip.CHECK,
        where="p2pcrawl.slave.boards.board_pages:unasked_end",
        old='if standing == "gone":',
        new='if standing == "gone" and link.seed:',
        harm="Pages of a board that was taken away, which came back to the queue, are asked for, and fail.",
    ),
    Mutant(
        name="finished-job-stays-so",
        kind=Slip.CHECK,
        where="p2pcrawl.peer.answers.board_calls:BoardCalls._put",
        old="if not version.closed and job.state in (FINISHED, INCOMPLETE):",
        new="if not version.closed and job.state == INCOMPLETE:",
        harm="A board that is added to a finished job waits for somebody who lets it run again.",
    ),
)
