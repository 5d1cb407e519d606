"""The policies of W3C's Referrer Policy: how much of a page's address the hosts that it links to are told."""

from __future__ import annotations

from enum import StrEnum


class ReferrerPolicy(StrEnum):
    """The names that pages and Scrapy's REFERRER_POLICY use; Scrapy's classes are accepted too."""

    NO_REFERRER = "no-referrer"
    NO_REFERRER_WHEN_DOWNGRADE = "no-referrer-when-downgrade"
    SAME_ORIGIN = "same-origin"
    ORIGIN = "origin"
    STRICT_ORIGIN = "strict-origin"
    ORIGIN_WHEN_CROSS_ORIGIN = "origin-when-cross-origin"
    STRICT_ORIGIN_WHEN_CROSS_ORIGIN = "strict-origin-when-cross-origin"
    UNSAFE_URL = "unsafe-url"
    SCRAPY_DEFAULT = "scrapy-default"
    """As no-referrer-when-downgrade."""

    @classmethod
    def _missing_(cls, value: object) -> ReferrerPolicy | None:
        return policy_named(value) if isinstance(value, str) else None


_BY_NAME = {policy.value: policy for policy in ReferrerPolicy}
_CLASSES = {policy.value.replace("-", "") + "policy": policy for policy in ReferrerPolicy} | {
    "defaultreferrerpolicy": ReferrerPolicy.SCRAPY_DEFAULT
}


def policy_named(text: str) -> ReferrerPolicy | None:
    """Returns the last policy of a list with commas that is known here, as the standard says; None without any."""
    for name in reversed(text[:1000].lower().split(",")):
        policy = _BY_NAME.get(name.strip()) or _CLASSES.get(name.rpartition(".")[2].strip())
        if policy is not None:
            return policy
    return None
