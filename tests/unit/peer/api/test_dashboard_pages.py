"""The dashboard's files as browsers get them: what may run in the page, and who may lead to it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from p2pcrawl.core.retuning import TUNABLE
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.peer.api.page_files import INDEX, content_policy, page_files
from p2pcrawl.peer.api.routes import Api

FILES = page_files()
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'{}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


class Desk:
    """A peer that knows one other member, or fails."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        if self.error is not None:
            raise self.error
        return {"members": [{"api": "127.0.0.1:7190"}]}

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        raise AssertionError(what)

    async def stream(self, what: str, arguments: dict[str, Any]) -> AsyncIterator[bytes]:
        raise AssertionError(what)
        yield b""


@asynccontextmanager
async def dashboard() -> AsyncIterator[tuple[Desk, aiohttp.ClientSession]]:
    desk = Desk()
    api = Api(desk, "5e" * 32, Path("/where/it/is"))
    await api.open("127.0.0.1", [0])
    try:
        async with aiohttp.ClientSession(f"http://{api.address}") as session:
            yield desk, session
    finally:
        await api.close()


async def test_page_is_served_under_a_policy_that_lets_nothing_else_in() -> None:
    async with dashboard() as (_, session), session.get("/") as answer:
        assert answer.status == 200
        assert answer.content_type == "text/html"
        assert answer.headers["Content-Security-Policy"] == POLICY.format(" http://127.0.0.1:7190")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_page_is_served_when_nobody_knows_the_members() -> None:
    async with dashboard() as (desk, session):
        desk.error = P2PCrawlError("there is no master")
        async with session.get("/") as answer:
            assert answer.headers["Content-Security-Policy"] == POLICY.format("")


def test_policy_names_addresses_and_nothing_else_that_members_tell() -> None:
    told = ["10.0.0.5:7180", "[::1]:7180", "evil.example:80", "*", "10.0.0.5:7180; script-src *", "", "1.2.3.4:1 *"]

    policy = content_policy(told)  # type: ignore[arg-type]

    assert policy == POLICY.format(" http://10.0.0.5:7180 http://[::1]:7180")


@pytest.mark.parametrize("name", sorted(FILES))
async def test_file_is_served_once_and_then_known(name: str) -> None:
    async with dashboard() as (_, session):
        async with session.get(f"/static/{name}") as answer:
            assert (answer.status, await answer.read()) == (200, FILES[name].body)
        async with session.get(f"/static/{name}", headers={"If-None-Match": answer.headers["ETag"]}) as again:
            assert again.status == 304


@pytest.mark.parametrize("path", ["__init__.py", "..%2f__init__.py", "%2e%2e/routes.py", "/etc/passwd", "none.js", ""])
async def test_no_path_leads_to_other_files(path: str) -> None:
    async with dashboard() as (_, session), session.get(f"/static/{path}") as answer:
        assert answer.status == 404
        assert "error" in await answer.json()


async def test_link_elsewhere_may_lead_to_the_page_and_to_nothing_else() -> None:
    async with dashboard() as (_, session):
        for path, headers, status in [
            ("/", LED, 200),
            ("/v1/status", LED, 403),
            ("/", {**LED, "Sec-Fetch-Dest": "iframe"}, 403),
            ("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403),
            ("/", {**LED, "Origin": "http://evil.example"}, 403),
            ("/", {**LED, "Host": "evil.example"}, 403),
        ]:
            async with session.get(path, headers=headers) as answer:
                assert answer.status == status, (path, headers)


def test_page_has_no_script_or_style_of_its_own_and_names_files_that_there_are() -> None:
    html = FILES[INDEX].body.decode()
    named = re.findall(r'(?:src|href)="/static/([^"]+)"', html)

    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    assert set(named) <= set(FILES)


@pytest.mark.parametrize("name", [name for name in sorted(FILES) if name.endswith(".js")])
def test_script_imports_what_there_is_and_makes_no_html_of_texts(name: str) -> None:
    text = FILES[name].body.decode()

    assert set(re.findall(r"from '\./([^']+)'", text)) <= set(FILES)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|DOMParser", text)
    assert not re.search(r"https?://(?!\$\{|www\.w3\.org/2000/svg)", text)


def test_settings_that_may_be_changed_on_the_page_are_those_that_can_be() -> None:
    listed = re.search(r"const CHANGEABLE = \[(.*?)\];", FILES["job.js"].body.decode(), re.DOTALL)

    assert listed is not None
    assert set(re.findall(r"'(\w+)'", listed[1])) == {name.upper() for name in TUNABLE}


async def test_file_is_packed_for_whoever_can_unpack_it() -> None:
    async with dashboard() as (_, session):
        async with session.get("/static/page.css", headers={"Accept-Encoding": "gzip"}) as packed:
            assert packed.headers["Content-Encoding"] == "gzip"
            assert await packed.read() == FILES["page.css"].body
        async with session.get("/static/page.css", headers={"Accept-Encoding": "identity"}) as plain:
            assert "Content-Encoding" not in plain.headers
            assert int(plain.headers["Content-Length"]) > int(packed.headers["Content-Length"])
