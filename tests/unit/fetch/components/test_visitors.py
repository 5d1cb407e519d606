"""User agents and sessions in the chain."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from p2pcrawl.core.visitors.session_pool import SessionPool
from p2pcrawl.fetch.components.chain import Chain
from p2pcrawl.fetch.components.cookies import Cookies
from p2pcrawl.fetch.components.standard import default_components
from p2pcrawl.fetch.components.visitors import Sessions, SessionWatch, UserAgents
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, FetchError
from p2pcrawl.model.outcome import Failure

AGENTS = {f"Agent {n}": 1.0 for n in range(50)}


def agent_of(component: UserAgents, url: str, **meta: Any) -> str:
    request = Request(url, meta=meta)
    component.process_request(request)
    return str(request.headers["User-Agent"])


def test_host_sees_one_agent_and_a_session_shows_one_everywhere() -> None:
    agents = UserAgents(AGENTS)

    assert len({agent_of(agents, f"http://a.example/{n}") for n in range(20)}) == 1
    assert len({agent_of(agents, f"http://h{n}.example/") for n in range(50)}) > 20
    assert len({agent_of(agents, f"http://h{n}.example/", session="one") for n in range(20)}) == 1


def test_request_that_brings_its_agent_keeps_it_and_gets_no_headers_of_another() -> None:
    request = Request("https://a.example/", headers={"user-agent": "mine"})

    UserAgents({"Mozilla/5.0 (Windows NT 10.0) Chrome/141.0.0.0 Safari/537.36": 1.0}).process_request(request)

    assert dict(request.headers) == {"user-agent": "mine"}


def test_agents_come_from_a_file_with_their_weights(tmp_path: Path) -> None:
    path = tmp_path / "agents.txt"
    path.write_text("# ours\n3\tOften, (like this)\nSeldom\n\n")

    agents = UserAgents(Settings().updated({"USER_AGENTS": f"file:{path}"}).user_agents)

    assert {agent_of(agents, f"http://h{n}.example/") for n in range(100)} == {"Often, (like this)", "Seldom"}


@pytest.mark.parametrize("content", ["", "# nothing\n", "heavy\tAgent\n", "-1\tAgent\n", None])
def test_file_that_names_no_agents_is_told(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "agents.txt"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ConfigurationError):
        UserAgents({f"file:{path}": 1.0})


@pytest.mark.parametrize("value", [{"a": 0}, {"a": -1}, {"a\nb": 1}, [""] * 0 + [3]])
def test_agents_that_cannot_be_sent_are_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="USER_AGENTS"):
        Settings().updated({"USER_AGENTS": value})


class Host:
    """Keeps visitors out after two pages, by their cookie; ``seen`` are cookie and agent of each request."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self._visitors = 0

    async def fetch(self, request: Request) -> Answer:
        cookie = str(request.headers.get("Cookie") or "")
        self.seen.append((cookie, str(request.headers["User-Agent"])))
        if not cookie:
            self._visitors += 1
            return Answer(request.url, 200, {}, b"", set_cookies=(f"id={self._visitors}; Path=/",))
        banned = sum(each == cookie for each, _ in self.seen) > 2
        return Answer(request.url, 403 if banned else 200, {}, b"")


async def visits(host: Host, number: int, **settings: Any) -> list[str]:
    its = Settings().updated({"session_pool": 1, "user_agents": AGENTS, **settings})
    pool = SessionPool(its.session_pool, its.session_uses_max, Random(7).randrange)
    parts = [Sessions(pool), SessionWatch(its, pool), UserAgents(its.user_agents), Cookies()]
    chain = Chain(parts, host.fetch)
    ends = []
    for page in range(number):
        try:
            ends.append(str((await chain.run(Request(f"http://a.example/{page}"))).status))
        except FetchError as error:
            assert error.kind is Failure.BANNED
            ends.append("banned")
    return ends


async def test_session_that_is_kept_out_is_followed_by_another_visitor() -> None:
    host = Host()

    ends = await visits(host, 8)

    assert ends == ["200", "200", "200", "banned"] * 2
    cookies = [cookie for cookie, _ in host.seen]
    assert cookies == ["", "id=1", "id=1", "id=1", "", "id=2", "id=2", "id=2"]
    agents = [agent for _, agent in host.seen]
    assert len(set(agents[:4])) == len(set(agents[4:])) == 1
    assert agents[0] != agents[4]


async def test_session_ends_after_its_uses() -> None:
    host = Host()

    ends = await visits(host, 4, session_uses_max=2)

    assert ends == ["200"] * 4
    assert [cookie for cookie, _ in host.seen] == ["", "id=1", "", "id=2"]


async def test_sessions_have_jars_of_their_own() -> None:
    sent: list[str] = []

    async def fetch(request: Request) -> Answer:
        sent.append(str(request.headers.get("Cookie") or ""))
        return Answer(request.url, 200, {}, b"", set_cookies=(f"of={request.meta.get('session', 'nobody')}",))

    chain = Chain([Cookies()], fetch)
    for session in ("a", "b", "a", None):
        await chain.run(Request("http://x.example/", meta={"session": session} if session else {}))

    assert sent == ["", "", "of=a", ""]


async def test_request_with_a_session_or_jar_of_its_own_is_given_none() -> None:
    sessions = Sessions(SessionPool(1, 0, Random(7).randrange))
    named, jar = (
        Request("http://x.example/", meta={"session": "mine"}),
        Request("http://x.example/", meta={"cookiejar": 1}),
    )

    for request in (named, jar):
        sessions.process_request(request)

    assert (named.meta, jar.meta) == ({"session": "mine"}, {"cookiejar": 1})


def test_without_settings_there_are_no_visitors() -> None:
    kinds = {type(each) for each in default_components(Settings(), lambda origin: None)}

    assert not {Sessions, SessionWatch, UserAgents} & kinds
