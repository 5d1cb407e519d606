"""The verbs of boards and their options. What a verb does is imported when it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from p2pcrawl.cli.screen import options

_FILE = click.argument("file", metavar="FILE.toml", type=click.Path(exists=True, dir_okay=False))


@click.group()
def board() -> None:
    """Boards: crawls that are described in a .toml file instead of code (docs/boards.md).

    \b
    p2pcrawl board check news.toml https://news.example/
    p2pcrawl crawl news.toml -o news.jsonl
    p2pcrawl submit news.toml sports.toml --name press
    p2pcrawl board add press culture.toml
    """


@board.command("check")
@_FILE
@click.argument("urls", metavar="[URL]...", nargs=-1)
@options.as_json
@options.level
@options.debug
def check_board(file: str, urls: tuple[str, ...], as_json: bool, loglevel: str | None, debug: bool) -> int:
    """Show what a board would do with pages: each page's type and the rule that says so, its links, its item.

    Without a URL its first entries are looked at. Nothing is stored, and nothing followed.

    \b
    p2pcrawl board check news.toml https://news.example/ https://news.example/2026/11/ferries
    p2pcrawl board check news.toml --json

    The exit code is 1 where a page cannot be had, and 2 where the board has a mistake.
    """
    from p2pcrawl.cli.trying.board_verb import run_board_check

    return run_board_check(file, urls, as_json=as_json, level=loglevel or ("DEBUG" if debug else "WARNING"))


@board.command("add")
@click.argument("job", metavar="JOB")
@_FILE
@options.peer
@options.token
@options.as_json
@options.debug
def add_board(job: str, file: str, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
    """Add a board to a job of boards that is in the cluster.

    Its entries are put in at once. What is one per job (its pace, its outputs, its settings) the board leaves out, or
    says as the job has it. It may be typed again: the same board changes nothing.

    \b
    p2pcrawl board add press culture.toml
    p2pcrawl board add 1234 culture.toml --peer 10.0.0.5:7180
    """
    from p2pcrawl.cli.boards.board_changes import run_board_put

    return run_board_put("POST", job, file, peer_api, token_file, as_json=as_json)


@board.command("change")
@click.argument("job", metavar="JOB")
@_FILE
@options.peer
@options.token
@options.as_json
@options.debug
def change_board(job: str, file: str, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
    """Put another text in the place of a board's in a job: of that which is called as the file is, or calls itself.

    Pages of it that are read from then on are read by the new text. Entries that are new are put in at once; those that
    are gone are not asked again. A board that was taken away, or has reached its limit, goes on.

    \b
    p2pcrawl board change press culture.toml
    """
    from p2pcrawl.cli.boards.board_changes import run_board_put

    return run_board_put("PUT", job, file, peer_api, token_file, as_json=as_json)


@board.command("remove")
@click.argument("job", metavar="JOB")
@click.argument("name", metavar="NAME")
@options.peer
@options.token
@options.as_json
@options.debug
def remove_board(job: str, name: str, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
    """Take a board away from a job: nothing more of it is asked.

    What is queued of it is dropped with the reason `board-gone`, which `why` tells of a URL; its pages are visited no
    more; its items stay. `board add` or `board change` puts it in again.

    \b
    p2pcrawl board remove press culture
    """
    from p2pcrawl.cli.boards.board_changes import run_board_remove

    return run_board_remove(job, name, peer_api, token_file, as_json=as_json)


@board.command("list")
@click.argument("job", metavar="JOB")
@options.peer
@options.token
@options.as_json
@options.debug
def list_boards(job: str, peer_api: str | None, token_file: Path | None, as_json: bool, debug: bool) -> int:
    """List the boards of a job: whether each is in force, and what it has brought since the job has several.

    \b
    p2pcrawl board list press
    p2pcrawl board list 1234 --json
    """
    from p2pcrawl.cli.boards.board_changes import run_board_list

    return run_board_list(job, peer_api, token_file, as_json=as_json)


ALL: Final = (board,)
