"""The Referer of a request: the page it was found on, or as much of its address as the policy in force lets out.

User, password and fragment never go out, whatever the policy. The request's own policy (``meta["referrer_policy"]``)
wins, then that of the page (its Referrer-Policy header or ``<meta name="referrer">``), then the setting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.referrer import ReferrerPolicy, policy_named
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.url import origin_of

PAGE_POLICY: Final = "page_referrer_policy"
"""Where ``meta`` keeps the policy of the page that a request was found on. It is not handed on by spiders."""
_LENGTH_MAX: Final = 4096
"""A longer address is cut to its origin, as browsers do."""
_HEAD: Final = 4096
_META: Final = re.compile(rb"<meta\s[^<>]{0,500}>", re.IGNORECASE)
_NAME: Final = re.compile(rb"\sname\s*=\s*[\"']?referrer[\"'\s/>]", re.IGNORECASE)
_CONTENT: Final = re.compile(rb"\scontent\s*=\s*(?:[\"']([a-z,\s-]*)[\"']|([a-z,-]+))", re.IGNORECASE)


def referer(policy: ReferrerPolicy, page: str, target: str) -> str:
    """Returns the Referer by which the host of ``target`` learns of ``page``; "" for none."""
    own = page[: page.find("/", 8) + 1]
    if policy is _USUAL and own and "@" not in own and "#" not in page and target.startswith(own):
        return page if len(page) <= _LENGTH_MAX else own
    if not page.startswith(("http://", "https://")):
        return ""
    own = origin_of(page) + "/"
    same = own == origin_of(target) + "/"
    told = _disclosed(policy, same, page.startswith("https:") and not target.startswith("https:"))
    if told is not _WHOLE:
        return own if told is _ORIGIN else ""
    whole = page.partition("#")[0]
    scheme, _, rest = whole.partition("://")
    authority, slash, path = rest.partition("/")
    whole = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    return whole if len(whole) <= _LENGTH_MAX else own


_USUAL: Final = ReferrerPolicy.STRICT_ORIGIN_WHEN_CROSS_ORIGIN
_WHOLE: Final = "whole"
_ORIGIN: Final = "origin"
_NOTHING: Final = ""


def _disclosed(policy: ReferrerPolicy, same: bool, downgrade: bool) -> str:
    match policy:
        case ReferrerPolicy.NO_REFERRER:
            return _NOTHING
        case ReferrerPolicy.NO_REFERRER_WHEN_DOWNGRADE | ReferrerPolicy.SCRAPY_DEFAULT:
            return _NOTHING if downgrade else _WHOLE
        case ReferrerPolicy.SAME_ORIGIN:
            return _WHOLE if same else _NOTHING
        case ReferrerPolicy.ORIGIN:
            return _ORIGIN
        case ReferrerPolicy.STRICT_ORIGIN:
            return _NOTHING if downgrade else _ORIGIN
        case ReferrerPolicy.ORIGIN_WHEN_CROSS_ORIGIN:
            return _WHOLE if same else _ORIGIN
        case ReferrerPolicy.STRICT_ORIGIN_WHEN_CROSS_ORIGIN:
            return _WHOLE if same else _NOTHING if downgrade else _ORIGIN
        case ReferrerPolicy.UNSAFE_URL:
            return _WHOLE


def policy_of(meta: Mapping[str, Any], setting: ReferrerPolicy) -> ReferrerPolicy:
    """Returns the policy in force for a request."""
    if not meta:
        return setting
    wanted = meta.get("referrer_policy") or meta.get(PAGE_POLICY)
    return (policy_named(str(wanted)) if wanted else None) or setting


def page_policy(headers: Mapping[str, str], body: bytes) -> str:
    """Returns the policy that a page asks for, for what it links to; "" when it asks for none that is known."""
    text = headers.get("Referrer-Policy")
    policy = policy_named(text) if text else None
    if policy is None and body.find(b"eferrer", 0, _HEAD) >= 0:
        policy = _in_markup(body[:_HEAD])
    return policy.value if policy is not None else ""


def _in_markup(head: bytes) -> ReferrerPolicy | None:
    for tag in _META.findall(head):
        if _NAME.search(tag) and (content := _CONTENT.search(tag)):
            return policy_named((content[1] or content[2] or b"").decode("ascii"))
    return None


def redirected(request: Request, answer: Answer, target: str, setting: ReferrerPolicy) -> str:
    """Returns the Referer of ``request`` as it may go on to where ``answer`` sends it; "" for none."""
    page = request.headers.get("Referer", "")
    if not page:
        return ""
    text = answer.headers.get("Referrer-Policy")
    policy = (policy_named(text) if text else None) or policy_of(request.meta, setting)
    return referer(policy, page, target)
