"""The component that asks what may be done with a page."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from p2pcrawl.fetch.components.chain import Chain
from p2pcrawl.fetch.components.robots import RobotsRules, RobotsText, fetch_robots
from p2pcrawl.fetch.components.usage import HEAD_MAX, Reserved, UsageSignals, page_signals
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Drop

URL = "http://a.example/x/y?z"


def answer(body: bytes = b"", **headers: str) -> Answer:
    pairs = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(URL, 200, CIMultiDict({"Content-Type": "text/html"} | pairs), body)


async def asked(reply: Answer, robots: str = "", **settings: object) -> tuple[Answer, int]:
    """Returns the answer and how often the network was asked. Raises Reserved."""
    fetched = []

    async def fetch(request: Request) -> Answer:
        fetched.append(request.url)
        return reply

    rules = RobotsRules(RobotsText("rules", robots), "p2pcrawl", usage=True)
    component = UsageSignals(Settings().updated(settings), lambda origin: rules)
    try:
        return await Chain([component], fetch).run(Request(URL)), len(fetched)
    except Reserved as error:
        error.add_note(f"asked {len(fetched)} times")
        raise


async def test_page_that_its_site_forbids_is_not_even_asked_for():
    with pytest.raises(Reserved) as caught:
        await asked(answer(), "User-agent: *\nContent-Signal: /x/ ai-train=no\n", purpose="ai-train")

    assert caught.value.drop is Drop.CONTENT_SIGNAL
    assert caught.value.answer is None
    assert caught.value.__notes__ == ["asked 0 times"]


@pytest.mark.parametrize(
    ("reply", "drop"),
    [
        (answer(Content_Signal="ai-train=no"), Drop.CONTENT_SIGNAL),
        (answer(Content_Usage="train-ai=n"), Drop.CONTENT_USAGE),
        (answer(TDM_Reservation="1"), Drop.TDM),
        (answer(X_Robots_Tag="noai"), Drop.ROBOTS_TAG),
        (answer(b'<META content="NoAI" Name=robots >'), Drop.ROBOTS_TAG),
        (answer(b"<meta name='p2pcrawl' content='noai'>"), Drop.ROBOTS_TAG),
        (answer(b'<meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="https://p">'), Drop.TDM),
    ],
)
async def test_page_that_forbids_its_use_ends_when_it_is_here(reply, drop):
    with pytest.raises(Reserved) as caught:
        await asked(reply, purpose="search,ai-train")

    assert caught.value.drop is drop
    assert caught.value.answer is reply


@pytest.mark.parametrize(
    "reply",
    [
        answer(),
        answer(Content_Signal="ai-train=yes, search=no"),
        answer(X_Robots_Tag="noindex, googlebot: noai"),
        answer(b'<meta name="googlebot" content="noai"><meta name="robots" content="noindex">'),
        answer(b'</head><meta name="robots" content="noai">'),
        answer(b'<meta name="robots" content="noai">', Content_Type="text/plain"),
        answer(TDM_Reservation="yes"),
    ],
)
async def test_page_that_speaks_of_other_things_goes_on(reply):
    got, _ = await asked(reply, purpose="ai-train")

    assert got is reply
    assert got.forbidden == ""


async def test_marked_page_is_fetched_and_says_what_forbids_it():
    robots = "User-agent: *\nContent-Signal: ai-train=no\n"

    got, times = await asked(answer(), robots, purpose="ai-train", purpose_forbidden="mark")

    assert (times, got.forbidden) == (1, "content-signal")
    assert got.usage == {"ai-train": False, "said": ["Content-Signal: ai-train=no (robots.txt)"]}


async def test_without_a_purpose_all_is_told_and_nothing_left_out():
    got, _ = await asked(answer(Content_Usage="search=n"), usage_field="usage")

    assert got.forbidden == ""
    assert got.usage == {"search": False, "said": ["Content-Usage: search=n (header)"]}


async def test_page_speaks_before_its_header_and_its_site_on_text_and_data_mining():
    robots = "TDM-Rule: 1 /\n"
    options = {"purpose": "ai-train", "purpose_forbidden": "mark"}

    by_header, _ = await asked(answer(TDM_Reservation="0"), robots, **options)
    by_page, _ = await asked(answer(b'<meta name="tdm-reservation" content="1">', TDM_Reservation="0"), **options)

    assert (by_header.forbidden, by_page.forbidden) == ("", "tdm-reservation")


async def test_purpose_that_nobody_speaks_of_leaves_the_page_as_it_is():
    got, _ = await asked(answer(), purpose="ai-train")

    assert got.usage == {}


@pytest.mark.parametrize("part", [b"<meta ", b"<meta name=", b"<meta name='", b"<", b"robots", b'<meta name="tdm-'])
def test_no_page_keeps_the_reader_of_tags_busy(part):
    body = b"robots" + part * (4 * HEAD_MAX // len(part))

    assert page_signals(answer(body), "p2pcrawl") == []


async def test_all_lines_of_a_header_are_read():
    headers = CIMultiDict([("X-Robots-Tag", "googlebot: noindex"), ("X-Robots-Tag", "noai")])

    (signal,) = page_signals(Answer(URL, 200, headers, b""), "p2pcrawl")

    assert signal.by is Drop.ROBOTS_TAG


# -- tdmrep.json, fetched beside robots.txt ---------------------------------------------------------

TDMREP = b'[{"location": "/", "tdm-reservation": 1}]'


async def pause(host: str) -> None:
    pass


async def test_tdmrep_is_asked_for_after_robots_txt_where_signals_are_wanted(serve, new_client, page):
    server = await serve(page(b"User-agent: *\nDisallow: /a\n"), page(TDMREP))
    client = await new_client(purpose="ai-train")

    text = await fetch_robots(client, server.url, client.settings, pause)

    rules = RobotsRules(text, "p2pcrawl", usage=True)
    assert [server.path_of(0), server.path_of(1)] == ["/robots.txt", "/.well-known/tdmrep.json"]
    assert rules.usage is not None
    assert [signal.by for signal in rules.usage.signals("/b")] == [Drop.TDM]
    assert not rules.allowed(server.url + "/a")


async def test_tdmrep_is_not_asked_for_where_nobody_wants_it(serve, new_client, page):
    server = await serve(page(b"User-agent: *\n"))
    client = await new_client()

    await fetch_robots(client, server.url, client.settings, pause)

    assert len(server.heads) == 1


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops"])
async def test_site_without_a_tdmrep_says_nothing(serve, new_client, page, status):
    server = await serve(page(b"", status="404 Not Found"), page(TDMREP, status=status))
    client = await new_client(purpose="ai-train")

    text = await fetch_robots(client, server.url, client.settings, pause)

    assert text.verdict == "allow"


async def test_tdmrep_that_leads_out_of_bounds_is_none(serve, new_client, page):
    server = await serve(page(b""), page(b"", "Location: http://169.254.169.254/x", status="302 Found"))
    client = await new_client(Networks((), ["127.0.0.0/8"]), purpose="ai-train")

    text = await fetch_robots(client, server.url, client.settings, pause)

    assert (text.verdict, text.body) == ("rules", "")
