"""Facts about a page that is at hand."""

from __future__ import annotations

import re
import tempfile
import webbrowser
from collections.abc import Callable, Iterable
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any

from w3lib.html import get_meta_refresh as refresh_in

from p2pcrawl.spiders.page.answer_kinds import HtmlResponse, XmlResponse
from p2pcrawl.spiders.page.response import Response


def get_base_url(response: Response) -> str:
    """Returns the address that links of a page count from: its ``<base>``, else its own."""
    return response.base_url


def get_meta_refresh(
    response: Response, ignore_tags: Iterable[str] = ("script", "noscript")
) -> tuple[float, str] | tuple[None, None]:
    """Returns the delay and the address of a page's ``<meta http-equiv=refresh>``; Nones where it has none."""
    found: Any = refresh_in(response.text[:4096], response.base_url, "utf-8", ignore_tags)
    return found  # type: ignore[no-any-return]


def response_status_message(status: bytes | float | str) -> str:
    """Returns a status with its words, as in ``404 Not Found``."""
    number = int(status)
    known = {each.value: each.phrase for each in HTTPStatus}
    return f"{number} {known.get(number, 'Unknown Status')}"


def open_in_browser(response: Response, _openfunc: Callable[[str], Any] = webbrowser.open) -> Any:
    """Shows a page in the browser of this machine, from a file that stays in the folder for temporary files.

    Its links lead to where they do on the web. Raises TypeError for what is no text.
    """
    if not response.is_text:
        raise TypeError(f"only text is shown in a browser, which {response!r} is not")
    body, ending = response.body, ".txt"
    if "json" in response.headers.get("Content-Type", ""):
        ending = ".json"
    elif isinstance(response, HtmlResponse | XmlResponse) or b"<" in body[:1024]:
        ending = ".html"
        # The first <base> of a page is the one that counts; only what begins with its doctype is read by the standard.
        doctype = re.match(rb"\s*<!doctype[^>]{0,1000}>", body, re.IGNORECASE)
        place = doctype.end() if doctype is not None else 0
        body = body[:place] + f'<base href="{escape(response.base_url)}">'.encode() + body[place:]
    with tempfile.NamedTemporaryFile(prefix="p2pcrawl-page-", suffix=ending, delete=False) as file:
        file.write(body)
    return _openfunc(Path(file.name).as_uri())
