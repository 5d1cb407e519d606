"""Boards as they are written, and what is said of mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.model.crawl.job import SpiderRef
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.submission import Submission, submission_of
from p2pcrawl.spiders.boards.board_file import board_settings, load_board, read_board
from p2pcrawl.spiders.loading.chosen import merged_settings
from p2pcrawl.spiders.loading.load import load_spider, parse_target, reference_of

BOARD = """
entries = ["https://press.example/"]
depth = 3
output = ["press.jsonl"]

[articles]
allow = ['/\\d{4}/']

[fields]
title = "h1::text"
price = { xpath = "//b/text()", process = ["float"] }

[limits]
pages = 100

[speed]
delay = 0.5
per_host = 2

[settings]
ROBOTSTXT_OBEY = false
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "press.toml"
    path.write_text(BOARD)
    return path


def test_board_is_named_by_its_file() -> None:
    assert read_board(BOARD, "folder/press.toml").name == "press"
    assert read_board('name = "other"\n' + BOARD, "press.toml").name == "other"


def test_limits_speed_and_outputs_are_settings() -> None:
    assert board_settings(read_board(BOARD, "press.toml")) == {
        "DEPTH_LIMIT": 3,
        "CLOSESPIDER_PAGECOUNT": 100,
        "DOWNLOAD_DELAY": 0.5,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
        "FEEDS": {"press.jsonl": {}},
        "ROBOTSTXT_OBEY": False,
    }


def test_delay_of_nothing_is_said() -> None:
    board = read_board('entries = ["https://a.example/"]\n[speed]\ndelay = 0', "a.toml")

    assert board_settings(board) == {"DOWNLOAD_DELAY": 0.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("entries = [", "Invalid value \\(at end of document"),
        ("depth = 3", "line 1: object missing required field `entries`"),
        ("entries = []", "line 1: entries: a board needs at least one URL"),
        ('entries = ["press.example"]', "line 1: entries: .*https://press.example"),
        ('entries = ["https://a.example/"]\n\ndpeth = 3', "line 3: a board has no key 'dpeth'; did you mean depth?"),
        ('entries = ["https://a.example/"]\n[artikles]\nallow = []', "line 2: .*did you mean articles?"),
        ('entries = ["https://a.example/"]\n[articles]\nalow = []', "line 3: .*'alow'; did you mean allow"),
        ('entries = ["https://a.example/"]\n[follow]\nallow = ["("]', "line 3: follow.allow: missing \\)"),
        ('entries = ["https://a.example/"]\ndepth = -1', "line 2: depth: expected `int` >= 0"),
        ('entries = ["https://a.example/"]\n[fields]\na = "h1"\nb = "h1["', "line 4: fields.b.css: "),
        ('entries = ["https://a.example/"]\n[fields.a]\ncs = "h1"', "line 3: fields.a has no key 'cs'; did you"),
        ('entries = ["https://a.example/"]\n[fields]\na = {}', "line 3: fields.a: give one of css, xpath, jmespath"),
        ('entries = ["https://a.example/"]\n[fields]\na = {css="b", process=["stripp"]}', "did you mean strip"),
        ('entries = ["https://a.example/"]\n[fields]\na = {jmespath="a["}', "line 3: fields.a.jmespath: "),
        ('entries = ["https://a.example/"]\n[fields]\na = {jmespath="[a.lenght(b)]"}', "no function lenght\\(\\)"),
        ('entries = ["https://a.example/"]\n[fields]\na = {xpath="//["}', "line 3: fields.a.xpath: "),
        ('entries = ["https://a.example/"]\njumps = ["a b"]', "line 2: jumps: 'a b' is no jump link"),
        ('entries = ["https://a.example/"]\n[settings]\nDEPTH_LIMT = 3', "line 3: settings.*DEPTH_LIMIT"),
        ('entries = ["https://a.example/"]\n[settings]\nDEPTH_LIMIT = "x"', "line 3: settings.*DEPTH_LIMIT"),
        ('entries = ["https://a.example/"]\n[fields]\na = "h1::foo"', "line 3: fields.a.css: The pseudo-element ::foo"),
        ('entries = ["https://a.example/"]\n[follow]\ncss = ["a:foo"]', "line 3: follow.css: The pseudo-class :foo"),
        ('entries = ["https://a.example/"]\n[fields]\na = "//a\\u0000"', "line 3: fields.a.xpath: "),
        ('entries = ["https://a.example/"]\n[fields]\na = "//x:a"', "line 3: fields.a.xpath: .*namespace prefix"),
        ('entries = ["https://a.example/"]\n[follow]\nxpath = ["foo(.)"]', "line 3: follow.xpath: .*function"),
        ('entries = ["https://a.example/"]\n[follow]\nallow = ["a{99999999999999999999}"]', "line 3: .*is too large"),
        (f'entries = ["https://a.example/"]\n[follow]\nallow = ["{"(" * 3000}"]', "line 3: .*too much within"),
        (f"entries = {'[' * 5000}", "has too much within each other"),
        ("a." * 200_000 + "b = 1", "has too much within each other"),
        (f'entries = ["https://a.example/"]\n[limits]\nitems = 1\npages = {"9" * 30}', "line 4: limits.pages: .*above"),
        ('entries = ["https://a.example/"]\n[speed]\ndelay = inf', "line 3: speed.delay: .*not inf"),
        (f"depth = {'9' * 5000}", "Exceeds the limit .4300 digits."),
        ('entries = ["https://a.example/"]\nextract = "text"', "line 2: .*'text'; there are 'article', 'markdown'"),
        ('entries = ["https://a.example/"]\n[revisit]\narticles = "x"', "line 3: .*'x'; there are 'adaptive'"),
        ('entries = ["https://a.example/"]\n[fields]\na = {jmespath="a", of="x"}', "line 3: .*'x'; there are 'page', "),
        ('entries = ["https://a.example/"]\ndomains = ["https://a.example/"]', "line 2: .*is no host; write a.example"),
        ('entries = ["https://a.example/"]\ndomains = [""]', "line 2: domains: '' is no host"),
        ('name = "a\\tb"\nentries = ["https://a.example/"]', "line 1: name: .* cannot be shown"),
    ],
)  # fmt: skip
def test_mistake_is_told_with_its_line_and_what_was_meant(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"board news.toml.*{said}"):
        read_board(text, "news.toml")


def test_missing_file_is_told_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"board none\.toml cannot be read: No such file"):
        parse_target("none.toml")


def test_user_who_is_not_there_is_told() -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: Could not determine home directory"):
        parse_target("~no-such-user-here/a.toml")


def test_byte_order_mark_before_a_board_is_no_mistake(file: Path) -> None:
    file.write_text("\ufeff" + BOARD, encoding="utf-8")

    assert load_board(str(file)).depth == 3


def test_board_is_a_spider_that_other_processes_find_by_its_file(file: Path) -> None:
    cls = load_spider(parse_target(str(file)))

    assert cls.name == "press" and reference_of(cls) == SpiderRef(file=str(file))
    assert merged_settings(Settings(), cls, {"DEPTH_LIMIT": "5"}).depth_limit == 5
    assert merged_settings(Settings(), cls).download_delay == 0.5


def test_board_travels_as_its_text(file: Path) -> None:
    file.write_text(BOARD.replace('output = ["press.jsonl"]', ""))
    submission = submission_of(str(file), Settings(), {}, {})

    spec = Submission.read(submission.plain()).spec()

    assert (spec.name, spec.spider.file, spec.project) == ("press", "press.toml", b"")
    assert spec.code == file.read_text() and spec.settings["depth_limit"] == 3


def test_duplicates_are_settings() -> None:
    board = read_board(BOARD + '\n[duplicates]\nthen = "drop"\nnear = 3\nfield = "same"\n', "press.toml")

    settings = Settings().updated(board_settings(board))

    assert (settings.duplicates, settings.duplicates_near, settings.duplicates_field) == ("drop", 3, "same")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("near = 3", 'then = "mark" or "drop"'),
        ('then = "dorp"', "duplicates.then"),
        ('than = "drop"', "did you mean then"),
    ],
)
def test_duplicates_of_which_nothing_is_to_become_are_a_mistake(table: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read_board(f"{BOARD}\n[duplicates]\n{table}\n", "press.toml")
