"""The arguments of a call, read from its path, query, headers and body as the table says: what does not fit is refused
by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.api.table.operation import Operation, Parameter, RequestPart


def head_arguments(
    operation: Operation, path: Mapping[str, str], query: Sequence[tuple[str, str]], headers: Mapping[str, str]
) -> dict[str, Any]:
    """Returns the arguments that are in the head of a request. Raises ConfigurationError."""
    known = {each.name for each in operation.parameters if each.part is RequestPart.QUERY}
    asked = dict(query)
    if unknown := sorted(asked.keys() - known):
        raise ConfigurationError(f"{operation.method} {operation.path} has no parameter {unknown[0]!r:.80}")
    if len(asked) != len(query):
        twice = next(name for name, _ in query if [each for each, _ in query].count(name) > 1)
        raise ConfigurationError(f"{twice} is given twice")
    found = {RequestPart.PATH: path, RequestPart.QUERY: asked, RequestPart.HEADER: headers}
    return dict(_told(operation.parameters, found))


def _told(parameters: Sequence[Parameter], found: Mapping[RequestPart, Mapping[str, str]]) -> Iterator[tuple[str, Any]]:
    for each in parameters:
        text = found[each.part].get(each.name)
        if text is None:
            if each.required:
                raise ConfigurationError(f"{each.name} is missing: {each.summary}")
            continue
        try:
            yield each.told_as, msgspec.convert(text, each.kind, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigurationError(f"{each.name} cannot be {text!r:.80}: {error}") from None


def body_arguments(operation: Operation, body: bytes) -> dict[str, Any]:
    """Returns the arguments that are in the body of a request. Raises ConfigurationError."""
    try:
        arguments = msgspec.json.decode(body) if body else {}
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise ConfigurationError(f"the body is not JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise ConfigurationError("the body must be a JSON object")
    if operation.body is None:
        if arguments:
            raise ConfigurationError(f"{operation.method} {operation.path} takes no body")
        return {}
    try:
        msgspec.convert(arguments, operation.body)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"the body is not what {operation.id} takes: {error}") from None
    return arguments
