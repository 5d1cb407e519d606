"""``python -m simulations VERB``: runs one verb, and ends in one line whatever stops it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from p2pcrawl.model.errors import P2PCrawlError

from .parallel.processes import stop_by

INTERRUPTED = 130
PIPE_CLOSED = 141
_STOPS = (signal.SIGINT, signal.SIGTERM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb, and returns the exit status."""
    # No simulated peer trusts a public authority; reading their list is a tenth of what loading all of it takes.
    os.environ.setdefault("SSL_CERT_FILE", os.devnull)
    with _stopping():
        try:
            # Loading all of it takes a while, in which somebody may already have had enough.
            from .verbs.verbs import VERBS, parser

            # It stays to the end: no run's collections of garbage need go through all of it.
            gc.freeze()
            chosen = parser().parse_args(arguments)
            return VERBS[chosen.verb].run(chosen)
        except P2PCrawlError as error:
            print(f"{__package__}: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print(f"{__package__}: interrupted", file=sys.stderr)
            return INTERRUPTED
        except BrokenPipeError:
            # Whoever read what we print has seen enough, as ``head`` has; what is left must not fail again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return PIPE_CLOSED


@contextmanager
def _stopping() -> Iterator[None]:
    """Lets what stops a run put away its folders and end its processes, without being stopped at that itself."""

    def stop(number: int, frame: FrameType | None) -> None:
        for each in _STOPS:
            signal.signal(each, signal.SIG_IGN)
        stop_by(KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number))

    before = [signal.signal(each, stop) for each in _STOPS]
    try:
        yield
    finally:
        for each, handler in zip(_STOPS, before, strict=True):
            signal.signal(each, handler)


if __name__ == "__main__":
    sys.exit(main())
