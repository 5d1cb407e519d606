"""What has to hold when a signal stops a run anywhere, between any two steps of its code."""

from __future__ import annotations

import warnings


def leave_unawaited() -> None:
    """Lets no warning tell of coroutines that a signal kept from being begun."""
    warnings.filterwarnings("ignore", r"coroutine '.*' was never awaited", RuntimeWarning)
