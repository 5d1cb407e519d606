"""All masters act by the boards that people have said, from a while after they said so: no page of a board that was
taken away is asked for, all pages of the others are done, and each item is by the board as it was then.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from math import inf

from p2pcrawl.master.jobs.job import FINISHED
from p2pcrawl.model.boards.job_board import REMOVED
from p2pcrawl.model.outcome import Drop
from p2pcrawl.peer.answers.board_calls import IN_FORCE

from ...observe.folders import DONE, DROPPED, FAILED, Record
from ...play.evidence import Evidence, told
from ...play.wanted import BOARDS, BoardsKept, BoardWord, entry_of
from ...world.web import Kind, Visit, Web

SLACK_S = 5.0
"""How long a page may be with a slave after it was answered."""


def check(evidence: Evidence) -> Iterator[str]:
    for kept in evidence.boards:
        visits = [v for v in evidence.web.visits if v.job == BOARDS and not v.is_robots]
        yield from _of_masters(kept)
        yield from _of_pages(evidence.web, kept)
        yield from _of_visits(evidence.web, kept, visits)
        yield from _of_items(kept, visits)
        if kept.rounds > 1:
            yield from _of_rounds(kept, visits)


def _of_masters(kept: BoardsKept) -> Iterator[str]:
    """Yields what a master says of the boards that is not what people have said last, or not the same everywhere."""
    latest = {word.board: word for word in kept.words}
    for who, state in sorted(kept.states.items()):
        if state != FINISHED:
            yield f"{who}: the job of boards is {state or 'unknown'}"
    for who, boards in sorted(kept.lists.items()):
        if unknown := sorted(latest.keys() ^ boards.keys()):
            yield f"{who} does not tell of the boards that people have said: {', '.join(unknown)}"
        for board in sorted(latest.keys() & boards.keys()):
            word, listed = latest[board], boards[board]
            if listed.state != (IN_FORCE if word.editions else REMOVED):
                yield f"{who} says of board {board}, of which {_said(word)}, that it is {listed.state}"
            elif word.editions and not any(entry_of(word.host, board, e) in listed.entries for e in word.editions):
                yield f"{who} has board {board}, of which {_said(word)}, with {', '.join(listed.entries)}"
    for board in sorted(latest):
        if len({boards[board].entries for boards in kept.lists.values() if board in boards}) > 1:
            yield f"masters tell different entries of board {board}"


def _of_pages(web: Web, kept: BoardsKept) -> Iterator[str]:
    """Yields the pages of boards never taken away that are not through, and such entries of those in force."""
    for board in kept.unsafe:
        yield f"board {board} was said to be changed when its entries were on no disk"
    of = Counter(item["url"] for item in kept.items)
    for board in dict.fromkeys(word.board for word in kept.words):
        words = [word for word in kept.words if word.board == board]
        last = words[-1]
        if len(last.editions) == 1:
            (edition,) = last.editions
            entry = kept.records.get(url := entry_of(last.host, board, edition))
            if entry is None or entry.phase != DONE:
                yield f"{url}, an entry of board {board} in force, is {told(entry)}"
        if not all(word.editions for word in words):
            continue
        for url in sorted(_reached(web, last.host)):
            record, kind = kept.records.get(url), web.pages[url].kind
            wanted = FAILED if kind in (Kind.MISSING, Kind.FAILING) else DONE
            if record is None or record.phase != wanted:
                yield f"{url} of board {board} is {told(record)}"
            elif not of[url] and kind in (Kind.PLAIN, Kind.FLAKY) and url != f"http://{last.host}/":
                yield f"{url} of board {board} has no item"


def _of_visits(web: Web, kept: BoardsKept, visits: list[Visit]) -> Iterator[str]:
    """Yields what is asked for of a board that was taken away and is not back, and what is left of its queue."""
    for board in dict.fromkeys(word.board for word in kept.words):
        words = [word for word in kept.words if word.board == board]
        for place, word in enumerate(words):
            back_s = words[place + 1].began_s if place + 1 < len(words) else inf
            asked = [v for v in visits if v.host == word.host and word.held_s < v.began_s < back_s]
            if asked and not word.editions:
                yield (
                    f"{len(asked)} pages of board {board}, of which {_said(word)}, were asked for when all had to know "
                    f"it, since {word.held_s:.2f} s: {asked[0].url} at {asked[0].began_s:.2f} s by {asked[0].node}"
                )
    for url, record in sorted(kept.records.items()):
        if record.phase not in (DONE, FAILED) and not (record.phase == DROPPED and _may_be_dropped(web, url, record)):
            yield f"{url} of the job of boards is {told(record)} in the end"


def _of_rounds(kept: BoardsKept, visits: list[Visit]) -> Iterator[str]:
    """Yields the pages of boards never taken away that were visited less often than they are to be."""
    removed = {word.host for word in kept.words if not word.editions}
    answered = Counter(visit.url for visit in visits if visit.answered)
    for url, record in sorted(kept.records.items()):
        if record.phase == DONE and 0 < answered[url] < kept.rounds and url.split("/")[2] not in removed:
            yield f"{url} of the job of boards was visited {answered[url]} times, of {kept.rounds}"


def _may_be_dropped(web: Web, url: str, record: Record) -> bool:
    """Tells whether there is a reason to drop a page: its board is gone, or it is one to which a redirect led, and
    which robots.txt forbids.
    """
    forbidden = url in web.pages and web.forbids(web.pages[url])
    return record.reason == Drop.NO_BOARD or (forbidden and record.reason == Drop.ROBOTS)


def _of_items(kept: BoardsKept, visits: list[Visit]) -> Iterator[str]:
    """Yields the items that are there twice, of another board, or made by a text that was not in force then."""
    boards = {word.host: word.board for word in kept.words}
    for url, count in sorted(Counter(item["url"] for item in kept.items).items()):
        if count > 1:
            yield f"{url} of the job of boards has {count} items"
    for item in kept.items:
        url, board, edition = item["url"], item.get("board"), item.get("edition")
        if board != boards.get(url.split("/")[2]) or item.get("title") != url:
            yield f"{url} has the item of another board, or page: {board}, {item.get('title')}"
            continue
        in_force = _in_force(kept, board, edition)
        if in_force is None:
            yield f"{url} was read by an edition of board {board} that nobody has put in: {edition}"
            continue
        since_s, until_s = in_force
        if not any(v.url == url and v.answered and v.ended_s >= since_s and v.began_s <= until_s for v in visits):
            times = ", ".join(f"{v.began_s:.2f} s" for v in visits if v.url == url)
            yield f"{url} was read by edition {edition} of board {board}, and asked for at {times or 'no time'}"


def _in_force(kept: BoardsKept, board: object, edition: object) -> tuple[float, float] | None:
    """Returns from when till when an edition of a board may have read pages; None if nobody has put it in."""
    words = [word for word in kept.words if word.board == board]
    place = next((place for place, word in enumerate(words) if edition in word.editions), None)
    if place is None:
        return None
    return words[place].began_s - SLACK_S, words[place + 1].held_s if place + 1 < len(words) else inf


def _said(word: BoardWord) -> str:
    if not word.editions:
        return "people said that it is taken away"
    return f"edition {' or '.join(map(str, sorted(word.editions)))} was put in"


def _reached(web: Web, host: str) -> set[str]:
    """Returns the pages that a board of a host comes to know of: those of the host that its pages have links to."""
    first = web.hosts[host].pages[0].url
    found, open_ = {first}, deque([first])
    while open_:
        page = web.pages[open_.popleft()]
        if page.kind not in (Kind.PLAIN, Kind.FLAKY, Kind.REDIRECT):
            continue
        for url in page.links:
            if url.startswith(f"http://{host}/p/") and url not in found:
                found.add(url)
                open_.append(url)
    return found
