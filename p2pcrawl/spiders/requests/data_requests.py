"""Requests with data in their bodies: JSON, and calls of XML-RPC."""

from __future__ import annotations

import json
import warnings
from typing import Any, ClassVar
from xmlrpc import client as xmlrpc  # nosec B411  # It is written here, and never read.

from p2pcrawl.model.crawl.request import Request

_LEFT_OUT = "a JsonRequest with a body and data sends the body: the data will be ignored"
JSON_ACCEPT = "application/json, text/javascript, */*; q=0.01"


class JsonRequest(Request):
    """A request with ``data`` as JSON in its body: a POST, unless another method is given. ``dumps_kwargs`` go to
    ``json.dumps``, which sorts keys unless they say otherwise. Where there is a ``body`` too, it is what is sent.
    """

    attributes: ClassVar[tuple[str, ...]] = (*Request.attributes, "dumps_kwargs")

    def __init__(self, *args: Any, data: Any = None, dumps_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.dumps_kwargs = {"sort_keys": True, **(dumps_kwargs or {})}
        given = kwargs.get("body") is not None or len(args) > 4
        if data is not None and given:
            warnings.warn(_LEFT_OUT, stacklevel=2)
        elif data is not None:
            kwargs["body"] = json.dumps(data, **self.dumps_kwargs)
            if len(args) < 3:
                kwargs.setdefault("method", "POST")
        super().__init__(*args, **kwargs)
        self.headers.setdefault("Content-Type", "application/json")
        self.headers.setdefault("Accept", JSON_ACCEPT)

    def replace(self, **changes: Any) -> Any:
        """Returns a copy with some fields changed; ``data`` in the place of the body."""
        if changes.get("data") is not None and changes.get("body") is not None:
            warnings.warn(_LEFT_OUT, stacklevel=2)
            del changes["data"]
        elif changes.get("data") is not None:
            changes["body"] = json.dumps(
                changes.pop("data"), **{**self.dumps_kwargs, **changes.get("dumps_kwargs", {})}
            )
        return super().replace(**changes)


class XmlRpcRequest(Request):
    """A call of XML-RPC: ``params`` of ``methodname`` in its body. It is made however often it is asked for, unless
    ``dont_filter`` is False.
    """

    __slots__ = ()

    def __init__(self, *args: Any, encoding: str | None = None, **kwargs: Any) -> None:
        if "body" not in kwargs and "params" in kwargs:
            call = {name: kwargs.pop(name) for name in _OF_THE_CALL if name in kwargs}
            kwargs["body"] = xmlrpc.dumps(**call, encoding=encoding)
        kwargs.setdefault("method", "POST")
        kwargs.setdefault("dont_filter", True)
        if encoding is not None:
            kwargs["encoding"] = encoding
        super().__init__(*args, **kwargs)
        self.headers.setdefault("Content-Type", "text/xml")


_OF_THE_CALL = ("params", "methodname", "methodresponse", "allow_none")
