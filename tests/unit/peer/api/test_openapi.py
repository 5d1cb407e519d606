"""The document of the API is true: what it says is served, and what is served it says; and its page needs nothing
from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from p2pcrawl.peer.api.openapi import openapi_document
from p2pcrawl.peer.api.table.every_operation import OPERATIONS
from tests.unit.peer.api.test_api import TOKEN, api

DOCUMENT = openapi_document(OPERATIONS)
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}
UNDOCUMENTED = re.compile(r"/(docs|static|\.well-known)(/.*)?|/")
"""Pages for browsers, and the directory of keys that others ask for."""


def parts(value: Any) -> Iterator[Any]:
    yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(each)


def filled(path: str) -> str:
    return re.sub(r"\{\w+\}", "7", path)


def test_every_reference_leads_somewhere_and_every_operation_has_a_name_of_its_own() -> None:
    for each in parts(DOCUMENT):
        if isinstance(each, dict) and "$ref" in each:
            found: Any = DOCUMENT
            for step in each["$ref"].removeprefix("#/").split("/"):
                found = found[step]
    ids = [each["operationId"] for methods in DOCUMENT["paths"].values() for each in methods.values()]
    assert len(set(ids)) == len(ids)


def test_every_parameter_of_a_path_is_described() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for each in methods.values():
            told = {p["name"] for p in each.get("parameters", ()) if p["in"] == "path"}
            assert told == set(re.findall(r"\{(\w+)\}", path)), path


async def test_every_route_is_in_the_document_and_every_operation_has_a_route(monkeypatch: pytest.MonkeyPatch) -> None:
    apps: list[web.Application] = []

    class Runner(web.AppRunner):
        def __init__(self, app: web.Application, **more: Any) -> None:
            apps.append(app)
            super().__init__(app, **more)

    monkeypatch.setattr(web, "AppRunner", Runner)
    async with api():
        served = {(route.method, route.resource.canonical) for route in apps[0].router.routes() if route.resource}

    told = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    pages = {each for each in served - told if UNDOCUMENTED.fullmatch(each[1])}
    assert served - pages == told


@pytest.mark.parametrize("path", sorted(DOCUMENT["paths"]))
async def test_method_that_the_document_does_not_name_is_refused(path: str) -> None:
    told = {method.upper() for method in DOCUMENT["paths"][path]}
    async with api() as (_, session):
        for method in METHODS - told:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with session.request(method, filled(path), headers=headers) as answer:
                assert answer.status == 405
                assert set(answer.headers["Allow"].split(",")) == told


@pytest.mark.parametrize("path", sorted(path for path, methods in DOCUMENT["paths"].items() if "get" not in methods))
async def test_change_of_the_document_needs_the_token(path: str) -> None:
    async with api() as (desk, session):
        for method in DOCUMENT["paths"][path]:
            async with session.request(method, filled(path)) as answer:
                assert answer.status == 401
        assert not desk.told


async def test_document_is_for_everybody() -> None:
    async with api() as (_, session), session.get("/openapi.json") as answer:
        assert answer.status == 200
        assert await answer.json() == DOCUMENT


async def test_page_of_the_document_runs_nothing_but_its_own_files() -> None:
    async with api() as (_, session):
        async with session.get("/docs") as answer:
            page, policy = await answer.text(), answer.headers["Content-Security-Policy"]
        named = re.findall(r'(?:src|href)="(/docs/[^"]+)"', page)
        for name in named:
            async with session.get(name) as answer:
                assert answer.status == 200
                assert "http" not in re.sub(r"https?://www\.w3\.org/\S+", "", await answer.text())

    assert sorted(named) == ["/docs/reference.css", "/docs/reference.js"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "<style" not in page and not re.search(r"<script(?![^>]*src=)| on\w+=|https?:", page)
