"""Requests that send forms: from data, or from the form of a page with its fields filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.requests.page_forms import PageForm, chosen_form

FormData = Mapping[str, Any] | Iterable[tuple[str, Any]]
FORM_TYPE = "application/x-www-form-urlencoded"


class FormRequest(Request):
    """A request with the fields of a form: in its body, or in the query of its URL where the method is GET.

    ``formdata``: names with their values, each text, a number or a list of these. With it, the method is POST unless
    another is given.
    """

    valid_form_methods: ClassVar[list[str]] = ["GET", "POST"]

    __slots__ = ()

    def __init__(self, *args: Any, formdata: FormData | None = None, **kwargs: Any) -> None:
        if formdata and "method" not in kwargs and len(args) < 3:
            kwargs["method"] = "POST"
        super().__init__(*args, **kwargs)
        if not formdata:
            return
        fields = encoded_fields(formdata, self.encoding)
        if self.method == "POST":
            self.headers.setdefault("Content-Type", FORM_TYPE)
            self.body = fields.encode()
        else:
            self.url = f"{self.url.partition('#')[0].partition('?')[0]}?{fields}"

    @classmethod
    def from_response(
        cls,
        response: Response,
        formname: str | None = None,
        formid: str | None = None,
        formnumber: int = 0,
        formdata: FormData | None = None,
        clickdata: Mapping[str, str | int] | None = None,
        dont_click: bool = False,
        formxpath: str | None = None,
        formcss: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Returns the request that a browser would send for a form of the page, with ``formdata`` filled in: a value of
        None takes a field out. ``clickdata`` are attributes of the button that is clicked, or its number among all
        fields (``nr``); without it, the first one is, unless ``dont_click``. Other arguments are those of a request.

        The fields are sent urlencoded, also where the form says ``multipart/form-data``. Raises ValueError for a form
        or a button that is not there, IndexError for a number that is too high.
        """
        form: PageForm = chosen_form(
            response, name=formname, id_=formid, number=formnumber, xpath=formxpath, css=formcss
        )
        button = None if dont_click else form.clicked(clickdata)
        kwargs.setdefault("encoding", form.encoding)
        method = str(kwargs.pop("method", None) or form.method(button)).upper()
        if method not in cls.valid_form_methods:
            method = "GET"
        url = form.url(kwargs.pop("url", None), button)
        fields = form.fields(_pairs(formdata), button)
        if not fields and method == "GET":
            url = url.partition("?")[0]
        return cls(url, method=method, formdata=fields, **kwargs)


def encoded_fields(formdata: FormData, encoding: str = "utf-8") -> str:
    """Returns fields as the query of a URL has them; what the encoding does not have, as the references of HTML."""

    def written(value: Any) -> bytes:
        return value if isinstance(value, bytes) else str(value).encode(encoding, "xmlcharrefreplace")

    return urlencode([(written(name), written(value)) for name, value in _each(_pairs(formdata))])


def _pairs(formdata: FormData | None) -> list[tuple[str, Any]]:
    if not formdata:
        return []
    try:
        return list(formdata.items()) if isinstance(formdata, Mapping) else [(name, value) for name, value in formdata]
    except (ValueError, TypeError):
        raise ValueError(f"formdata is a dict or a list of pairs, not {formdata!r:.100}") from None


def _each(pairs: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
    for name, value in pairs:
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            yield name, "" if value is None else value
        else:
            for each in value:
                yield name, each
