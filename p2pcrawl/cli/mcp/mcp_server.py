"""A server of the Model Context Protocol over standard streams: JSON-RPC 2.0, one message on each line.

Of the protocol there is what tools need: the handshake, ``ping``, ``tools/list`` and ``tools/call``. What a tool cannot
do is told to the model as the tool's answer, for it may try something else; what is no call at all is told to its
program as an error of the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Final

import msgspec

from p2pcrawl.model.errors import P2PCrawlError

VERSIONS: Final = ("2025-06-18", "2025-03-26", "2024-11-05")
"""Of the protocol, the newest first: they do not differ in what is done here."""
LINE_MAX: Final = 4 * 1024 * 1024
ANSWER_CHARS_MAX: Final = 100_000
"""Of a tool's answer: a model has to read it."""

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool: its arguments are a Struct, from which its schema is made and by which they are checked."""

    name: str
    description: str
    arguments: type[msgspec.Struct]
    do: Callable[[Any], Any]
    changes: bool = False

    def told(self) -> dict[str, Any]:
        """Describes the tool as ``tools/list`` has it."""
        schema = msgspec.json.schema(self.arguments)
        plain = schema["$defs"][self.arguments.__name__]
        hints = {"readOnlyHint": not self.changes, "destructiveHint": self.changes, "openWorldHint": True}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {"type": "object", "properties": plain["properties"], "required": plain.get("required", [])},
            "annotations": hints,
        }


class RpcError(Exception):
    """A message that cannot be answered as what it is."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class McpServer:
    """Answers messages, each by itself; nothing is remembered between them."""

    def __init__(self, tools: Iterable[McpTool], version: str, instructions: str) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._version = version
        self._instructions = instructions

    def serve(self, lines: IO[bytes], out: IO[bytes]) -> None:
        """Answers each line until there are no more."""
        for line in _whole_lines(lines):
            answer = self.answer(line)
            if answer is not None:
                out.write(json.dumps(answer, ensure_ascii=True).encode() + b"\n")
                out.flush()

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """Answers one message; None where it is a notification, or an answer itself."""
        number: Any = None
        try:
            message = _message(line)
            number = message.get("id")
            if "method" not in message or "id" not in message:
                return None
            result = self._do(message["method"], message.get("params", {}))
        except RpcError as error:
            return {"jsonrpc": "2.0", "id": number, "error": {"code": error.code, "message": str(error)}}
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def _do(self, method: Any, params: Any) -> dict[str, Any]:
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params must be an object")
        match method:
            case "initialize":
                asked = params.get("protocolVersion")
                return {
                    "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "p2pcrawl", "version": self._version},
                    "instructions": self._instructions,
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.told() for tool in self._tools.values()]}
            case "tools/call":
                return self._call(params)
        raise RpcError(NO_METHOD, f"there is no method {method!r:.80}")

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        tool = self._tools.get(params["name"]) if isinstance(params.get("name"), str) else None
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"there is no tool {params.get('name')!r:.80}")
        try:
            found = tool.do(msgspec.convert(params.get("arguments") or {}, tool.arguments))
        except msgspec.ValidationError as error:
            return _content(f"{tool.name}: {error}", failed=True)
        except P2PCrawlError as error:
            return _content(str(error), failed=True)
        return _content(_bounded(json.dumps(found, ensure_ascii=False, indent=1)))


def _content(text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _bounded(text: str) -> str:
    if len(text) <= ANSWER_CHARS_MAX:
        return text
    return f"{text[:ANSWER_CHARS_MAX]}\n[cut here, of {len(text):,} characters: ask for less]"


def _message(line: bytes) -> dict[str, Any]:
    if len(line) > LINE_MAX:
        raise RpcError(INVALID_REQUEST, f"a message has at most {LINE_MAX:,} bytes")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RpcError(PARSE_ERROR, "that is no JSON") from error
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "that is no message of JSON-RPC 2.0, of which there is one on each line")
    return message


def _whole_lines(lines: IO[bytes]) -> Iterator[bytes]:
    """Yields lines, of one that is too long its beginning only, so that it is refused and the next one is answered."""
    while line := lines.readline(LINE_MAX + 1):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = lines.readline(LINE_MAX)
        if line.strip():
            yield line
