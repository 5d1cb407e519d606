"""Requests as browsers' tools copy them."""

from p2pcrawl.model.http.curl import request_arguments as curl_to_request_kwargs

__all__ = ["curl_to_request_kwargs"]
