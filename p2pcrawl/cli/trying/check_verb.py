"""The verb ``check``: the contracts of spiders, kept or broken."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from p2pcrawl.cli.screen.logs import log_to
from p2pcrawl.cli.screen.terminal import Terminal, show
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.cli.trying.contracts import Promises, breaches, contracts_of
from p2pcrawl.cli.trying.tried_spider import TriedSpider, spiders_at, tried_spider
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.spiders.aids.own_contract import own_contracts
from p2pcrawl.spiders.loading.chosen import merged_settings
from p2pcrawl.spiders.loading.trial import error_line
from p2pcrawl.spiders.page.typed_urls import checked_url
from p2pcrawl.spiders.spider import Spider


def run_check(target: str, settings: Mapping[str, str], arguments: Mapping[str, str], level: str) -> int:
    """Checks all contracts of the spiders that are meant; 1 where one is broken, or where there is none."""
    kept = broken = 0
    with log_to(Terminal(live=False), level), asyncio.Runner(loop_factory=new_event_loop) as runner:
        for cls, base in spiders_at(target, settings):
            chosen = merged_settings(base, cls).own.get("SPIDER_CONTRACTS") or {}
            contracts = list(contracts_of(cls, own_contracts(chosen)))
            if not contracts:
                continue
            for name, faults in runner.run(_checked(cls, base, arguments, contracts)):
                show(f"{'FAILED' if faults else 'ok    '} {cls.name}.{name}")
                for fault in faults:
                    show(f"       {fault}")
                kept, broken = kept + (not faults), broken + bool(faults)
    if not kept + broken:
        show("no contract was found: a callback has one when there is an @url in its docstring")
        return 1
    show(f"{counted(kept, 'contract')} kept, {broken:,} broken")
    return int(broken > 0)


async def _checked(
    cls: type[Spider], base: Settings | RankedSettings, arguments: Mapping[str, str], contracts: list[Promises]
) -> list[tuple[str, list[str]]]:
    """Returns what is wrong with each callback that has a contract."""
    async with tried_spider(cls, base, arguments) as tried:
        return [(contract.callback, await _faults(tried, contract)) for contract in contracts]


def _request_of(contract: Promises) -> Request:
    args = {"url": checked_url(contract.url), "meta": contract.meta, "cb_kwargs": contract.cb_kwargs}
    made: Any = Request
    for own in contract.own:
        args = own.adjust_request_args(args)
        made = own.request_cls or made
    request: Request = made(**{name: value for name, value in args.items() if name != "callback"})
    return request


async def _faults(tried: TriedSpider, contract: Promises) -> list[str]:
    try:
        request = _request_of(contract)
        response = await tried.get(request)
        if not 200 <= response.status < 300 and response.status not in (tried.spider.handle_httpstatus_list or ()):
            return [f"{contract.url} answers {response.status}"]
        for own in contract.own:
            if own.pre_process is not None:
                own.pre_process(response)
        items, requests = await tried.results(response, contract.callback, request.cb_kwargs)
        for own in contract.own:
            if own.post_process is not None:
                own.post_process([*items, *requests])
    except AssertionError as broken:
        return [str(broken) or error_line(broken)]
    except P2PCrawlError as error:
        return [str(error)]
    except Exception as error:
        return [f"it raised {error_line(error)}"]
    return list(breaches(contract, items, requests))
