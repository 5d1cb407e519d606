"""The verbs that try things out on single pages: fetch, view, parse, check, new, list, settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from p2pcrawl.cli import run
from p2pcrawl.cli.trying.contracts import Promises, breaches, contracts_of
from p2pcrawl.spiders.spider import Spider

SPIDER = '''
from p2pcrawl import Spider


class Titles(Spider):
    name = "titles"
    start_urls = ["{site}/"]
    custom_settings = {{"DOWNLOAD_DELAY": 0.25}}

    def parse(self, response, tag="none"):
        """Takes the title.

        @url {site}/
        @cb_kwargs {{"tag": "a"}}
        @returns items 1 1
        @returns requests 1
        @scrapes title tag
        """
        yield {{"title": response.title, "tag": tag}}
        yield response.follow("/two", callback=self.parse_two)

    def parse_two(self, response):
        """@url {site}/two
        @scrapes price
        """
        yield {{"title": response.title}}
'''


class Pages(BaseHTTPRequestHandler):
    """Answers each path with a page of that title; /robots.txt and /gone with 404."""

    def do_GET(self) -> None:
        status = 404 if self.path in ("/robots.txt", "/gone") else 200
        body = f"<html><head><title>at {self.path}</title></head></html>".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def pages() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.fixture
def spider(tmp_path: Path, pages: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "titles_tried.py").write_text(SPIDER.format(site=pages))
    return "titles_tried.py"


def test_fetch_writes_the_body_and_tells_the_status(pages: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    code = run(["fetch", f"{pages}/gone"])

    told = capfdbinary.readouterr()
    assert (code, told.out) == (1, b"<html><head><title>at /gone</title></head></html>")
    assert told.err == f"404 {pages}/gone\n".encode()


def test_fetch_shows_the_headers_that_were_sent_and_had(pages: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fetch", pages, "--headers", "-s", "USER_AGENT=mine/1.0"]) == 0

    told = capsys.readouterr().out
    assert "> User-Agent: mine/1.0" in told
    assert "< Content-Type: text/html" in told


def test_view_writes_a_page_whose_links_lead_somewhere(pages: str, tmp_path: Path) -> None:
    assert run(["view", f"{pages}/a", "-o", str(tmp_path / "a.html")]) == 0

    assert f'<head><base href="{pages}/a"><title>' in (tmp_path / "a.html").read_text()


def test_parse_shows_items_and_requests_of_each_level(
    pages: str, spider: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["parse", f"{pages}/", "--spider", spider, "--cbkwargs", '{"tag": "x"}', "--depth", "2"])

    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "level 1: 1 item, 1 request",
        '  {"title":"at /","tag":"x"}',
        f"  GET {pages}/two -> parse_two",
        "level 2: 1 item, 0 requests",
        '  {"title":"at /two"}',
    ]


MIDDLEWARES = """
class Led:
    def process_request(self, request, spider):
        if request.url.endswith("/one"):
            return request.replace(url=request.url.replace("/one", "/two"))
        if request.url.endswith("/round"):
            return request.replace(meta={"n": request.meta.get("n", 0) + 1})

    def process_response(self, request, response, spider):
        made = response.replace(body=b"<title>made anew</title>")
        made.note = "ours"
        return made


class Noted(Titles):
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {__file__ + ":Led": 500}}

    def parse(self, response):
        yield {"url": response.url, "title": response.title, "note": response.note}
"""


@pytest.fixture
def noted(spider: str) -> str:
    with Path(spider).open("a") as file:
        file.write(MIDDLEWARES)
    return f"{spider}:Noted"


def test_page_is_what_middlewares_make_of_it(pages: str, noted: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["parse", f"{pages}/one", "--spider", noted, "--json"])

    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert (code, item) == (0, {"url": f"{pages}/two", "title": "made anew", "note": "ours"})


def test_middleware_that_leads_round_and_round_is_told_of(
    pages: str, noted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["parse", f"{pages}/round", "--spider", noted, "--json"]) == 1

    assert "leads elsewhere more than 20 times" in capsys.readouterr().err


def test_parse_fails_with_one_line_where_the_callback_is_not_there(
    pages: str, spider: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["parse", f"{pages}/", "--spider", spider, "-c", "parse_three", "--json"])

    told = capsys.readouterr()
    assert (code, json.loads(told.out)) == (1, {"items": [], "requests": []})
    assert told.err == "p2pcrawl: spider titles has no method parse_three\n"


def test_check_tells_which_contracts_are_kept(spider: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", spider]) == 1

    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["ok     titles.parse", "FAILED titles.parse_two"]
    assert "an item has no price" in told[2]
    assert told[3] == "1 contract kept, 1 broken"


def test_list_and_settings_tell_of_a_file(spider: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", spider]) == 0
    assert run(["settings", spider, "--get", "download_delay"]) == 0

    assert capsys.readouterr().out.splitlines() == ["titles", "0.25"]


def test_setting_that_is_not_there_is_refused_with_the_one_that_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["settings", "--get", "DOWNLOAD_DELAI"]) == 2

    assert "was DOWNLOAD_DELAY meant?" in capsys.readouterr().err


def test_new_spider_runs_and_is_never_written_over(
    pages: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["new", "brand-new", pages]) == 0
    assert run(["parse", f"{pages}/", "--spider", "brand_new.py"]) == 0
    assert run(["new", "brand-new", pages]) == 2

    told = capsys.readouterr()
    assert f'{{"url":"{pages}/","title":"at /"}}' in told.out
    assert "brand_new.py is there already" in told.err


def test_new_project_lists_its_spider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["new", "shop_tried", "https://shop.example", "--project"]) == 0

    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*") if "__pycache__" not in path.parts}
    assert files == {
        "shop_tried/scrapy.cfg",
        "shop_tried/shop_tried/__init__.py",
        "shop_tried/shop_tried/settings.py",
        "shop_tried/shop_tried/spiders/__init__.py",
        "shop_tried/shop_tried/spiders/shop_tried_spider.py",
    }
    assert "run: p2pcrawl crawl --scrapy shop_tried shop_tried" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("bounds", "count", "kept"),
    [("items", 1, True), ("items", 0, False), ("items 0 2", 3, False), ("items 2", 9, True), ("item 0 0", 0, True)],
)
def test_number_of_results_is_within_what_was_promised(bounds: str, count: int, kept: bool) -> None:
    class Promising(Spider):
        name = "promising"

        def parse(self, response: Any) -> None: ...

    Promising.parse.__doc__ = f"@url http://a.example/\n@returns {bounds}"
    (contract,) = contracts_of(Promising)

    assert (not list(breaches(contract, [{"a": 1}] * count, []))) is kept


OWN_CONTRACT = '''
from p2pcrawl import Spider
from p2pcrawl.contracts import Contract, ContractFail


class Titled(Contract):
    name = "titled"

    def adjust_request_args(self, args):
        return {{**args, "cb_kwargs": {{"tag": self.args[0]}}}}

    def pre_process(self, response):
        if response.title != "at /":
            raise ContractFail(f"it is titled {{response.title}}")

    def post_process(self, output):
        assert output == [{{"tag": "a"}}], f"it returned {{output}}"


class Own(Spider):
    name = "own"
    custom_settings = {{"SPIDER_CONTRACTS": {{Titled: 10}}}}

    def parse(self, response, tag):
        """@url {site}/
        @titled a
        """
        yield {{"tag": tag}}

    def parse_late(self, response, tag):
        """@url {site}/
        @titled b
        """
        yield {{"tag": tag}}

    def parse_other(self, response, tag):
        """@url {site}/two
        @titled a
        """
        yield {{"tag": tag}}
'''


def test_contracts_of_ones_own_are_checked(
    pages: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_contracts_tried.py").write_text(OWN_CONTRACT.format(site=pages))

    assert run(["check", "own_contracts_tried.py", "-s", "ALLOW_PRIVATE_NETWORKS=127.0.0.0/8"]) == 1

    told = capsys.readouterr().out.splitlines()
    assert told[0] == "ok     own.parse"
    assert told[1:3] == ["FAILED own.parse_late", "       it returned [{'tag': 'b'}]"]
    assert told[3:5] == ["FAILED own.parse_other", "       it is titled at /two"]


def test_each_item_has_all_fields_that_were_promised() -> None:
    contract = Promises("parse", scrapes=["a", "b"])

    assert list(breaches(contract, [{"a": 1, "b": 2}], [])) == []
    assert list(breaches(contract, [{"a": 1}], [])) == ["an item has no b: {'a': 1}"]


def test_shell_has_the_spider_and_its_settings(pages: str, spider: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = "print(spider.name, settings.download_delay); shelp()"

    assert run(["shell", f"{pages}/", "--spider", spider, "-c", code]) == 0

    told = capsys.readouterr()
    assert told.out == "titles 0.25\n"
    assert "view(response) opens it in a browser" in told.err
