"""The choice of an answer's class by what is known of it."""

from p2pcrawl.spiders.page.answer_kinds import HtmlResponse, JsonResponse, TextResponse, XmlResponse
from p2pcrawl.spiders.page.kind_choice import ResponseTypes, responsetypes
from p2pcrawl.spiders.page.response import Response

__all__ = [
    "HtmlResponse",
    "JsonResponse",
    "Response",
    "ResponseTypes",
    "TextResponse",
    "XmlResponse",
    "responsetypes",
]
