"""The address of a table as it was typed: what only the place where it was typed knows is settled here.

Imports no driver: whoever submits a job to a cluster needs none.
"""

from __future__ import annotations

import os
from dataclasses import replace

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.sql.item_columns import columns_as_text, columns_from_text
from p2pcrawl.stores.sql.item_types import columns_of_type, load_item_type

SQLITE = "sqlite"


def settle_address(address: SinkAddress) -> SinkAddress:
    """Returns the address with the columns of its item's type instead of the type's name, and with a whole path.

    Raises ConfigurationError.
    """
    options = dict(address.options)
    if named := options.pop("item", ""):
        if "columns" in options:
            raise ConfigurationError("a table's columns come from ?item= or from ?columns=, not from both")
        options["columns"] = columns_as_text(columns_of_type(load_item_type(named)))
    elif columns := options.get("columns"):
        options["columns"] = columns_as_text(columns_from_text(columns))
    return replace(address, url=_whole(address.url), options=options)


def _whole(url: str) -> str:
    """Returns the URL of a file of SQLite with an absolute path, so that a resumed crawl finds it from any folder."""
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] != SQLITE:
        return url
    path, question, query = rest.partition("?")
    if not path.startswith("/") or len(path) == 1:
        raise ConfigurationError(f"{url} names no file: write sqlite:///shop.db, or sqlite:////data/shop.db")
    return f"{scheme}:///{os.path.abspath(path[1:])}{question}{query}"
