"""The component that signs requests: which ones, and what becomes of signatures at redirects and proxies."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.fetch.components.chain import Chain, Redirected
from p2pcrawl.fetch.components.plain_fetcher import PlainFetcher
from p2pcrawl.fetch.components.redirect import Redirect
from p2pcrawl.fetch.components.robots import fetch_robots
from p2pcrawl.fetch.components.signed_requests import SignedRequests, signer_of
from p2pcrawl.fetch.components.standard import default_components
from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.fetch.signing.bot_key import BotKey
from p2pcrawl.model.choosing.signature_form import SignWhen
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, FetchError

ASKS = {"Accept-Signature": 'sig1=("@authority" "signature-agent");tag="web-bot-auth"'}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    path = tmp_path / "bot.pem"
    BotKey.generate().write(path)
    return Settings(signature_key=str(path), signature_agent="https://bot.example")


def component(settings: Settings, when: SignWhen = SignWhen.ALWAYS) -> SignedRequests:
    signer = signer_of(settings)
    assert signer is not None
    return SignedRequests(signer, when)


def test_without_a_key_nothing_is_signed() -> None:
    kinds = [type(each) for each in default_components(Settings(), lambda origin: None)]

    assert SignedRequests not in kinds


def test_key_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    settings = Settings(signature_key=str(tmp_path / "none.pem"), signature_agent="https://bot.example")

    with pytest.raises(ConfigurationError, match="cannot read the bot key"):
        signer_of(settings)


@pytest.mark.parametrize("target", ["http://b.example/", "http://a.example/2"])
def test_each_hop_of_a_redirect_is_signed_anew(settings: Settings, target: str) -> None:
    signs = component(settings)
    request = Request("http://a.example/")
    signs.process_request(request)

    with pytest.raises(Redirected) as caught:
        Redirect(settings).process_answer(request, Answer(request.url, 302, {"Location": target}, b""))

    assert not {"Signature", "Signature-Input", "Signature-Agent"} & set(caught.value.request.headers)


async def test_host_is_sent_a_signature_once_it_has_asked_for_one(settings: Settings) -> None:
    sent: list[bool] = []

    async def fetch(request: Request) -> Answer:
        sent.append("Signature" in request.headers)
        return Answer(request.url, 200 if sent[-1] else 403, {} if sent[-1] else ASKS, b"")

    chain = Chain([component(settings, SignWhen.ASKED)], fetch)

    with pytest.raises(Redirected) as caught:
        await chain.run(Request("http://a.example/1", callback="parse_a"))
    again = await chain.run(caught.value.request)
    next_one = await chain.run(Request("http://a.example/2"))
    elsewhere = chain.run(Request("http://b.example/"))

    assert (again.status, next_one.status) == (200, 200)
    assert (caught.value.request.url, caught.value.request.callback) == ("http://a.example/1", "parse_a")
    assert caught.value.request.dont_filter
    with pytest.raises(Redirected):
        await elsewhere
    assert sent == [False, True, True, False]


async def test_host_that_asks_again_and_again_is_answered_once(settings: Settings) -> None:
    async def fetch(request: Request) -> Answer:
        return Answer(request.url, 403, ASKS, b"")

    chain = Chain([component(settings, SignWhen.ASKED)], fetch)

    with pytest.raises(Redirected) as caught:
        await chain.run(Request("http://a.example/"))
    refused = await chain.run(caught.value.request)

    assert refused.status == 403


@pytest.mark.parametrize("headers", [{}, {"Accept-Signature": "x=();tag=other"}])
async def test_refusal_that_asks_for_no_signature_of_ours_stays_one(
    settings: Settings, headers: dict[str, str]
) -> None:
    async def fetch(request: Request) -> Answer:
        return Answer(request.url, 403, headers, b"")

    answer = await Chain([component(settings, SignWhen.ASKED)], fetch).run(Request("http://a.example/"))

    assert answer.status == 403


async def test_asked_for_at_one_host_is_not_carried_to_another(settings: Settings) -> None:
    request = Request("http://b.example/", meta={"signature_asked": "a.example"})

    component(settings, SignWhen.ASKED).process_request(request)

    assert "Signature" not in request.headers


async def test_proxy_is_not_told_what_is_signed_for_a_host_behind_its_tunnel(serve, page, settings: Settings) -> None:
    proxy = await serve(page(b"", status="502 No"))
    request = Request("https://93.184.216.34/", meta={"proxy": proxy.url})
    component(settings).process_request(request)

    async with HttpClient(settings, Networks((), ["127.0.0.0/8"])) as client:
        with pytest.raises(FetchError):
            await client.fetch(request)

    assert proxy.heads[0].startswith(b"CONNECT 93.184.216.34:443")
    assert b"signature" not in proxy.heads[0].lower()


async def test_robots_txt_is_asked_for_with_a_signature_too(serve, new_client, page, settings: Settings) -> None:
    server = await serve(
        page(b"", *(f"{n}: {v}" for n, v in ASKS.items()), status="403 Sign"), page(b"User-agent: *\n")
    )
    client = await new_client()
    plain = PlainFetcher(client, [component(settings, SignWhen.ASKED)])

    text = await fetch_robots(plain, server.url, settings, lambda host: pytest.fail("paused"))

    assert text.verdict == "rules"
    assert [b"Signature-Input: " in head for head in server.heads] == [False, True]
