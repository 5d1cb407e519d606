"""The directory of a bot's keys: what verifiers fetch to check a signature, and its own signature.

The signature of the directory's answer proves that whoever has the key wants it to be found under this authority. So
it is made for the authority that the bot gives as its agent, whoever asks: a copy elsewhere proves nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Final

from p2pcrawl.fetch.signing.bot_key import BotKey
from p2pcrawl.fetch.signing.message_signatures import (
    Parameters,
    authority_of,
    byte_sequence,
    signature_base,
    signature_params,
)

PATH: Final = "/.well-known/http-message-signatures-directory"
MEDIA_TYPE: Final = "application/http-message-signatures-directory+json"
TTL_S: Final = 86_400
_TAG: Final = "http-message-signatures-directory"


def directory_of(keys: Sequence[BotKey]) -> bytes:
    """Writes the directory: a set of JSON web keys, public halves only."""
    return json.dumps({"keys": [key.jwk for key in keys]}, separators=(",", ":")).encode()


class KeyDirectory:
    """The answer with the keys' directory, for the authority of ``agent``."""

    def __init__(self, keys: Sequence[BotKey], agent: str) -> None:
        self._keys = keys
        self._authority = authority_of(agent)

    def answer(self, now: float) -> tuple[bytes, dict[str, str]]:
        """Returns body and headers: one signature of each key, as of now."""
        body = directory_of(self._keys)
        digest = f"sha-256={byte_sequence(hashlib.sha256(body).digest())}"
        components = [('"@authority";req', self._authority), ('"content-digest"', digest)]
        inputs, signatures = [], []
        for number, key in enumerate(self._keys, 1):
            created = int(now)
            times: Parameters = [("created", created), ("expires", created + TTL_S)]
            params = signature_params(components, [*times, ("keyid", key.thumbprint), ("tag", _TAG)])
            inputs.append(f"binding{number}={params}")
            signatures.append(f"binding{number}={byte_sequence(key.sign(signature_base(components, params)))}")
        return body, {
            "Content-Type": MEDIA_TYPE,
            "Cache-Control": f"max-age={TTL_S // 2}",
            "Content-Digest": digest,
            "Signature-Input": ", ".join(inputs),
            "Signature": ", ".join(signatures),
        }
