"""What the pages say of sinks is true: their addresses are read, and the options are those that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import OPTIONS, SinkAddress
from p2pcrawl.stores.feeds.feed_sinks import WORDS
from p2pcrawl.stores.kinds import SinkPlace, address_of, kept_options, make_sink, own_options, read_sink
from p2pcrawl.stores.shaping import check_options

ROOT = Path(__file__).resolve().parents[1]
SINKS = (ROOT / "docs" / "sinks.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
DESTINATIONS_OWN = {"authSource", "replicaSet", "ssl", "tls", "w"}
"""Names in the addresses of the pages' examples that are the destinations' own."""


def schemes() -> list[str]:
    """Returns the schemes that there are, as a user is told of them."""
    with pytest.raises(ConfigurationError) as caught:
        make_sink(SinkAddress("nothing://x"), SinkPlace(""))
    return re.findall(r"([a-z0-9+]+)://", str(caught.value).partition("there are")[2])


SCHEMES = schemes()
OPTIONS_OF_KINDS = set().union(*map(own_options, SCHEMES), *map(kept_options, SCHEMES))
ADDRESSES = sorted(
    {
        address
        for page in (*(ROOT / "docs").glob("*.md"), ROOT / "README.md")
        for quoted in re.findall(r"-o (?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s`'\"|)]+))", page.read_text())
        for address in quoted
        if address.partition("://")[0] in SCHEMES
    }
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_address_on_a_page_is_one_that_is_read(address: str) -> None:
    scheme = address.partition("://")[0]
    spec = read_sink(address)

    check_options(address_of(spec), own_options(scheme), kept_options(scheme))

    left = {pair.partition("=")[0] for pair in spec.url.partition("?")[2].split("&") if pair}
    assert left <= DESTINATIONS_OWN | kept_options(scheme)


def test_every_kind_of_sink_has_an_address_on_its_page() -> None:
    names = {scheme.partition("+")[0] for scheme in SCHEMES}

    assert [name for name in sorted(names) if f"{name}://" not in SINKS] == []


def test_options_of_sinks_on_the_page_are_those_that_there_are() -> None:
    named = set(re.findall(r"[?&]([a-z_]+)=", SINKS)) | set(re.findall(r"`([a-z_]+)=", SINKS))
    named -= DESTINATIONS_OWN

    assert sorted(named - OPTIONS - OPTIONS_OF_KINDS) == []
    assert sorted((OPTIONS | OPTIONS_OF_KINDS) - named) == []


def test_words_of_feeds_on_the_page_are_those_that_there_are() -> None:
    page = SETTINGS.partition("### FEEDS")[2].partition("\n## ")[0]

    assert sorted(word for word in WORDS if f"`{word}`" not in page) == []
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert sorted(set(re.findall(r"`([a-z_]+)`", " ".join(rows))) - WORDS - OPTIONS) == []
