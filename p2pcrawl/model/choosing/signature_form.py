"""The choices of how requests are signed."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

SIGNED_PARTS: Final = ("@method", "@path", "@target-uri", "@query", "@scheme", "@request-target")
"""What can be signed of a request besides its authority."""

AGENT_FORM: Final = "an origin such as https://bot.example, without a path"
_is_origin = re.compile(r"https://[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?\Z").match


def is_agent(text: str) -> bool:
    """Tells whether a text is the origin of a directory of keys, written as browsers write origins."""
    return _is_origin(text) is not None


class SignatureForm(StrEnum):
    """The form of the header Signature-Agent."""

    DICTIONARY = "dictionary"
    """As signers have to write it by the drafts since 2025."""
    STRING = "string"
    """As earlier drafts had it, for verifiers that know nothing else."""


class SignWhen(StrEnum):
    """The requests that are signed."""

    ALWAYS = "always"
    ASKED = "asked"
    """Those to hosts that have asked for it, by Accept-Signature."""
