"""The component that signs requests, always or where it is asked for."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from p2pcrawl.fetch.components.chain import Component, Redirected
from p2pcrawl.fetch.signing.bot_key import BotKey
from p2pcrawl.fetch.signing.message_signatures import authority_of
from p2pcrawl.fetch.signing.signer import HOSTS_MAX, TAG, RequestSigner
from p2pcrawl.model.choosing.signature_form import SignWhen
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings

_REFUSALS: Final = frozenset({401, 403, 429})
_ASKED: Final = "signature_asked"
"""Where meta notes that a request is made again with a signature, since its host asked for one."""


def signer_of(settings: Settings, clock: Callable[[], float] = time.time) -> RequestSigner | None:
    """Makes the signer that settings ask for, if they do. Raises ConfigurationError for a key that cannot be used."""
    if not settings.signature_key:
        return None
    return RequestSigner(
        BotKey.read(Path(settings.signature_key).expanduser()),
        settings.signature_agent,
        clock,
        ttl_s=settings.signature_ttl,
        form=settings.signature_form,
        covers=settings.signature_covers,
        nonce=settings.signature_nonce,
    )


class SignedRequests(Component):
    """Signs requests for the authority that they go to, each hop of a redirect anew.

    Near the network: what is signed is what is sent. A host that answers with Accept-Signature is asked again with a
    signature, and is sent signed requests from then on.
    """

    order = 950
    everywhere = True

    def __init__(self, signer: RequestSigner, when: SignWhen = SignWhen.ALWAYS) -> None:
        self._signer = signer
        self._always = when is SignWhen.ALWAYS
        self._asked: OrderedDict[str, None] = OrderedDict()

    def process_request(self, request: Request) -> None:
        if self._always:
            self.sign(request)
            return
        authority = _authority(request)
        if authority in self._asked or (request.meta and request.meta.get(_ASKED) == authority):
            self.sign(request)

    def sign(self, request: Request) -> None:
        """Signs a request in place; signatures that it brought along, from another hop, are replaced."""
        request.headers.update(self._signer.headers(request.url, request.method, request.headers.get("Host", "")))

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        if self._always or answer.status not in _REFUSALS or "Signature" in request.headers:
            return answer
        if TAG not in answer.headers.get("Accept-Signature", ""):
            return answer
        authority = _authority(request)
        self._asked[authority] = None
        if len(self._asked) > HOSTS_MAX:
            self._asked.popitem(last=False)
        again = request.replace(meta={**request.meta, _ASKED: authority}, dont_filter=True)
        raise Redirected(again, answer.status, answer.ip)


def _authority(request: Request) -> str:
    return authority_of(request.url, request.headers.get("Host", "") if request.headers else "")
