"""Facts and other forms of requests."""

from p2pcrawl.spiders.requests.as_dict import (
    referer_str,
    request_authenticate,
    request_from_dict,
    request_httprepr,
    request_to_curl,
)
from p2pcrawl.spiders.requests.fingerprinter import RequestFingerprinter, request_fingerprint
from p2pcrawl.spiders.requests.fingerprinter import request_fingerprint as fingerprint

__all__ = [
    "RequestFingerprinter",
    "fingerprint",
    "referer_str",
    "request_authenticate",
    "request_fingerprint",
    "request_from_dict",
    "request_httprepr",
    "request_to_curl",
]
