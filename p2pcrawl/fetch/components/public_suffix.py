"""Names under which anybody can have a name: nobody may speak for all of them.

The list (publicsuffix.org, with the section of private registries such as github.io) comes with tldextract; nothing is
fetched. It is loaded when the first host wants a cookie for a whole domain.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=10_000)
def is_public_suffix(domain: str) -> bool:
    """Tells whether ``domain``, in lower case, is a public suffix. A name of one label always is; the empty one as
    well.
    """
    domain = domain.rstrip(".")
    if "." not in domain:
        return True
    return not _extract()(domain).domain


@lru_cache(maxsize=1)
def _extract() -> Any:
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
