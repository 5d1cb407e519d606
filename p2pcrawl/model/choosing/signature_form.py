"""The choices of how requests are signed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from p2pcrawl.model.errors import ConfigurationError

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


def check_signature(key: str, agent: str, covers: Sequence[str]) -> None:
    """Raises ConfigurationError for settings by which nothing can be signed."""
    if bool(key) != bool(agent):
        raise ConfigurationError(
            "SIGNATURE_KEY, a key file, and SIGNATURE_AGENT, where its directory is, need each other"
        )
    if agent and not is_agent(agent):
        raise ConfigurationError(f"SIGNATURE_AGENT is {AGENT_FORM}, not {agent!r}")
    for name in covers:
        if name not in SIGNED_PARTS:
            raise ConfigurationError(f"SIGNATURE_COVERS is some of {', '.join(SIGNED_PARTS)}, not {name!r}")
