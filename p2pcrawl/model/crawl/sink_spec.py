"""The destination of a job's items as plain data, which can travel with the job."""

from __future__ import annotations

from dataclasses import dataclass, field

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import is_text

SINKS_MAX = 16
"""Sinks of one job: which of them has a page is told in so many bits."""
SINK_TEXT_MAX = 4_096
"""Characters of an address, and of the value of an option."""
SINK_OPTIONS_MAX = 32
SINK_SECRET_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """A destination as it was asked for. Raises ConfigurationError for what cannot be sent or stored."""

    url: str
    """An address without password and without our own options; a path for a file, ``-`` for standard output. There is
    one sink of a job for each."""
    options: dict[str, str] = field(default_factory=dict)
    """Our own options, by their names in the address."""
    replace: bool = False
    """What the destination holds already of earlier jobs goes when the job begins."""
    secret: str = field(default="", repr=False)
    """The password; never shown, logged or stored in the clear."""

    def __post_init__(self) -> None:
        if not is_text(self.url):
            raise ConfigurationError(f"the output {self.url!r} has a name that is no text: give it another")
        if not all(map(is_text, (self.secret, *self.options, *self.options.values()))):
            raise ConfigurationError(f"an option or the password of the output {self.url} is no text")
        if max(map(len, (self.url, *self.options, *self.options.values()))) > SINK_TEXT_MAX:
            raise ConfigurationError(f"an output is over the limit of {SINK_TEXT_MAX} characters: {self.url:.80}")
        if len(self.options) > SINK_OPTIONS_MAX or len(self.secret) > SINK_SECRET_MAX:
            raise ConfigurationError(f"the output {self.url} has too many options, or too long a password")
