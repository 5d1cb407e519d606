"""The signer of requests: three headers by which a host knows whose crawler asks it.

A signature is for one authority and a short time. Within both it is used again: most requests cost a look into a
dictionary. With a nonce, or over more than the authority, it is made for each request.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from p2pcrawl.fetch.signing.bot_key import BotKey
from p2pcrawl.fetch.signing.message_signatures import (
    Parameters,
    authority_of,
    byte_sequence,
    derived,
    quoted,
    signature_base,
    signature_params,
)
from p2pcrawl.model.choosing.signature_form import SignatureForm

TAG: Final = "web-bot-auth"
LABEL: Final = "bot"
HOSTS_MAX: Final = 10_000
_NONCE_BYTES: Final = 32

SignedHeaders = dict[str, str]


class RequestSigner:
    """``agent``: the origin of the key's directory. ``ttl_s``: the length of a signature's life; it is used for half of
    that. ``covers``: components to be signed besides the authority.
    """

    def __init__(
        self,
        key: BotKey,
        agent: str,
        clock: Callable[[], float],
        *,
        ttl_s: float = 60.0,
        form: SignatureForm = SignatureForm.DICTIONARY,
        covers: tuple[str, ...] = (),
        nonce: bool = False,
    ) -> None:
        self._key = key
        self._clock = clock
        self._ttl_s = max(1, int(ttl_s))
        self._covers = covers
        self._nonce = nonce
        self._value = quoted(agent)
        self._header = f"{LABEL}={self._value}" if form is SignatureForm.DICTIONARY else self._value
        self._component = (
            f'"signature-agent";key="{LABEL}"' if form is SignatureForm.DICTIONARY else '"signature-agent"'
        )
        self._known: OrderedDict[str, tuple[float, SignedHeaders]] = OrderedDict()

    def headers(self, url: str, method: str = "GET", host: str = "") -> SignedHeaders:
        """Returns the headers for a request. ``host``: its own Host header, if it brings one."""
        authority = authority_of(url, host)
        if self._covers or self._nonce:
            return self._signed(authority, url, method)
        now = self._clock()
        known = self._known.get(authority)
        if known is not None and known[0] <= now < known[0] + self._ttl_s / 2:
            return known[1]
        signed = self._signed(authority, url, method)
        self._known[authority] = (now, signed)
        self._known.move_to_end(authority)
        if len(self._known) > HOSTS_MAX:
            self._known.popitem(last=False)
        return signed

    def _signed(self, authority: str, url: str, method: str) -> SignedHeaders:
        created = int(self._clock())
        components = [
            ('"@authority"', authority),
            *((quoted(name), derived(name, url, method)) for name in self._covers),
            (self._component, self._value),
        ]
        nonce = [("nonce", os.urandom(_NONCE_BYTES).hex())] if self._nonce else []
        parameters: Parameters = [
            ("created", created),
            ("expires", created + self._ttl_s),
            ("keyid", self._key.thumbprint),
            ("alg", "ed25519"),
            *nonce,
            ("tag", TAG),
        ]
        params = signature_params(components, parameters)
        signature = self._key.sign(signature_base(components, params))
        return {
            "Signature-Agent": self._header,
            "Signature-Input": f"{LABEL}={params}",
            "Signature": f"{LABEL}={byte_sequence(signature)}",
        }
