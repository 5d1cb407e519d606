"""Requests, answers and headers of all kinds, at the path that Scrapy's users know."""

from p2pcrawl.model.crawl.request import NO_CALLBACK, Request
from p2pcrawl.model.http.headers import Headers
from p2pcrawl.spiders.page.answer_kinds import HtmlResponse, JsonResponse, TextResponse, XmlResponse
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.requests.as_dict import request_from_dict
from p2pcrawl.spiders.requests.data_requests import JsonRequest, XmlRpcRequest
from p2pcrawl.spiders.requests.data_requests import JsonRequest as JSONRequest
from p2pcrawl.spiders.requests.form_request import FormRequest

__all__ = [
    "NO_CALLBACK",
    "FormRequest",
    "Headers",
    "HtmlResponse",
    "JSONRequest",
    "JsonRequest",
    "JsonResponse",
    "Request",
    "Response",
    "TextResponse",
    "XmlResponse",
    "XmlRpcRequest",
    "request_from_dict",
]
