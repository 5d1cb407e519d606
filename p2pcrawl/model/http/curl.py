"""Requests in the words of curl, as browsers' tools copy them."""

from __future__ import annotations

import argparse
import shlex
from base64 import b64encode
from http.cookies import CookieError, SimpleCookie
from typing import Any, NoReturn
from urllib.parse import urlsplit

from p2pcrawl.model.errors import BadRequest

_SILENT = (
    *("--compressed", "-s", "--silent", "-v", "--verbose", "-#", "--progress-bar", "-k", "--insecure", "-L"),
    *("--location", "-i", "--include", "-g", "--globoff", "--http1.1", "--http2", "-S", "--show-error", "-f", "--fail"),
)
"""Options that say nothing of the request, or what is done anyway."""


class _Words(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadRequest(f"not a command of curl that can be read: {message}")


def _words() -> _Words:
    words = _Words(prog="curl", add_help=False, allow_abbrev=False)
    words.add_argument("place", nargs="?")
    words.add_argument("--url")
    words.add_argument("-H", "--header", dest="headers", action="append", default=[])
    words.add_argument("-X", "--request", dest="method")
    words.add_argument("-I", "--head", dest="head", action="store_true")
    words.add_argument("-G", "--get", dest="get", action="store_true")
    words.add_argument(
        *("-d", "--data", "--data-raw", "--data-ascii", "--data-binary", "--data-urlencode"),
        dest="data",
        action="append",
        default=[],
    )
    words.add_argument("--json", dest="json")
    words.add_argument("-u", "--user", dest="user")
    words.add_argument("-b", "--cookie", dest="cookies", action="append", default=[])
    words.add_argument("-A", "--user-agent", dest="user_agent")
    words.add_argument("-e", "--referer", dest="referer")
    for option in _SILENT:
        words.add_argument(option, dest="silent", action="store_true")
    return words


def request_arguments(command: str, ignore_unknown_options: bool = True) -> dict[str, Any]:
    """Returns the arguments of the request that a command of curl makes.

    Raises BadRequest for what is no such command, and, unless they are to be ignored, for options that are not known.
    """
    try:
        name, *rest = shlex.split(command.replace("\\\n", " ").replace("\\\r\n", " "))
    except ValueError as error:
        raise BadRequest(f"not a command of curl: {error}") from None
    if name != "curl":
        raise BadRequest(f"a command of curl begins with curl, not with {name!r:.40}")
    # "$'...'" is the shell's; what is left of it here is the dollar.
    rest = [each.removeprefix("$") if each.startswith("$") else each for each in rest]
    said, unknown = _words().parse_known_args(rest)
    if unknown and not ignore_unknown_options:
        raise BadRequest(f"options of curl that are not known: {', '.join(unknown)}")
    url = said.url or said.place
    if not url:
        raise BadRequest("the command of curl has no URL")
    arguments: dict[str, Any] = {"url": url if "://" in url else f"http://{url}", "method": "GET"}
    headers, cookies = _headers(said)
    _add_data(arguments, headers, said)
    if said.method or said.head:
        arguments["method"] = (said.method or "HEAD").upper()
    if headers:
        arguments["headers"] = headers
    if cookies:
        arguments["cookies"] = cookies
    return arguments


def _headers(said: argparse.Namespace) -> tuple[list[tuple[str, str]], dict[str, str]]:
    headers: list[tuple[str, str]] = []
    lines = list(said.cookies)
    for header in said.headers:
        name, _, value = header.partition(":")
        if name.strip().lower() == "cookie":
            lines.append(value.strip())
        else:
            headers.append((name.strip(), value.strip()))
    if said.user_agent:
        headers.append(("User-Agent", said.user_agent))
    if said.referer:
        headers.append(("Referer", said.referer))
    if said.user:
        headers.append(("Authorization", "Basic " + b64encode(said.user.encode()).decode()))
    cookies: dict[str, str] = {}
    for line in lines:
        cookies.update(_cookies(line))
    return headers, cookies


def _cookies(line: str) -> dict[str, str]:
    try:
        read = {name: morsel.value for name, morsel in SimpleCookie(line).items()}
    except CookieError:
        read = {}
    if read:
        return read
    pairs = (pair.partition("=") for pair in line.split(";"))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals and name.strip()}


def _add_data(arguments: dict[str, Any], headers: list[tuple[str, str]], said: argparse.Namespace) -> None:
    data = "&".join(each.removeprefix("$") for each in said.data)
    known = {name.lower() for name, _ in headers}
    if said.json is not None:
        arguments.update(method="POST", body=said.json)
        headers.extend((name, "application/json") for name in ("Content-Type", "Accept") if name.lower() not in known)
    elif data and said.get:
        arguments["url"] += ("&" if urlsplit(arguments["url"]).query else "?") + data
    elif data:
        arguments.update(method="POST", body=data)
        if "content-type" not in known:
            headers.append(("Content-Type", "application/x-www-form-urlencoded"))


def curl_command(request: Any) -> str:
    """Returns a command of curl that makes a request."""
    words = ["curl", "-X", request.method, request.url]
    if request.body:
        words += ["--data-raw", request.body.decode("utf-8", "replace")]
    for name, value in request.headers.lines:
        words += ["-H", f"{name}: {value}"]
    cookies = request.cookies
    if not isinstance(cookies, dict):
        cookies = {cookie["name"]: cookie["value"] for cookie in cookies}
    if cookies:
        words += ["--cookie", "; ".join(f"{name}={value}" for name, value in cookies.items())]
    return shlex.join(words)
