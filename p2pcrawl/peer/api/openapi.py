"""The OpenAPI document, made from the table of operations: it cannot say anything else than what is served."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from p2pcrawl.peer.api.table.answer_shapes import RefusedCall
from p2pcrawl.peer.api.table.operation import Operation, Parameter, Rank, RequestPart

API_VERSION: Final = "1.0"
_REF: Final = "#/components/schemas/{name}"
_BLANKS: Final = re.compile(r"\s+")

REFUSALS: Final[Mapping[int, str]] = {
    400: "The call cannot be: a parameter or the body is not what is described here, or asks for what cannot be done.",
    401: "The call needs a token, and came with none that opens it.",
    403: "The call came under a foreign Host or from another page's Origin, or its token is for reading only.",
    404: "There is no such job, master or host.",
    408: "The body did not arrive in time.",
    409: "It cannot be done as the job or the master stands.",
    413: "The body is too large.",
    503: "The cluster cannot answer at the moment, or not all of it; the same call may succeed later.",
}

_ABOUT: Final = """The API of a peer of a p2pcrawl cluster. Any peer answers for the whole cluster.

Calls that change something need the token of the asked peer; where its API does not listen on loopback only, so do
those that read. It is sent as `Authorization: Bearer TOKEN`; or, as the command line does, a nonce of `/v1/nonce` is
signed with it: `Authorization: P2PCrawl NONCE DIGEST SIGNATURE`.

Refusals are `{"error": text}`. Answers may gain fields within version 1, and lose none."""


def openapi_document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Makes the document."""
    types = [RefusedCall, *(each.answer for each in operations), *(each.body for each in operations if each.body)]
    references, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    refs = {id(kind): ref for kind, ref in zip(types, references, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, refs, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "p2pcrawl", "version": API_VERSION, "description": _ABOUT},
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(map(_tag, operations))],
        "paths": paths,
        "components": {
            "schemas": _joined(schemas),
            "responses": {str(status): _refusal(text, refs[id(RefusedCall)]) for status, text in REFUSALS.items()},
            "securitySchemes": {
                "change": {"type": "http", "scheme": "bearer", "description": "the text of the peer's file `token`"},
                "read": {"type": "http", "scheme": "bearer", "description": "that, or the text of `token-read`"},
            },
        },
    }


def _operation(
    operation: Operation, refs: Mapping[int, dict[str, Any]], schemas: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [_tag(operation)],
        "responses": {
            "200": _answer(operation, refs[id(operation.answer)]),
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in operation.refusals},
        },
        "security": _security(operation.rank),
    }
    if operation.unready:
        told["responses"]["503"] = {**told["responses"]["200"], "description": "It is not ready; the reasons say why."}
    if operation.parameters:
        told["parameters"] = [_parameter(each) for each in operation.parameters]
    if operation.body is not None:
        needed = bool(schemas[operation.body.__name__].get("required"))
        content = {"application/json": {"schema": refs[id(operation.body)]}}
        told["requestBody"] = {"required": needed, "content": content}
    return told


def _answer(operation: Operation, ref: dict[str, Any]) -> dict[str, Any]:
    if operation.stream:
        return {"description": operation.summary, "content": {operation.stream: {"schema": {"type": "string"}}}}
    return {"description": operation.summary, "content": {"application/json": {"schema": ref}}}


def _refusal(text: str, ref: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": ref}}}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.part.value,
        "required": parameter.required or parameter.part is RequestPart.PATH,
        "description": parameter.summary,
        "schema": msgspec.json.schema(parameter.kind),
    }


def _security(rank: Rank) -> list[dict[str, list[str]]]:
    match rank:
        case Rank.OPEN:
            return []
        case Rank.READ:
            # On loopback nothing is asked for.
            return [{}, {"read": []}]
        case Rank.CHANGE:
            return [{"change": []}]


def _tag(operation: Operation) -> str:
    first = operation.path.removeprefix("/v1/").partition("/")[0]
    return first if first in ("jobs", "urls", "hosts", "members") else "cluster"


def _joined(value: Any) -> Any:
    """Joins the lines of descriptions, which are docstrings."""
    if isinstance(value, dict):
        return {
            name: _BLANKS.sub(" ", each) if name == "description" and isinstance(each, str) else _joined(each)
            for name, each in value.items()
        }
    return [_joined(each) for each in value] if isinstance(value, list) else value
