"""Settings of the run's own job, drawn, each kind by dice of its own: in what order queues are served, how hosts are
throttled, what components count, and when a host is taken for one that is down.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from p2pcrawl.model.crawl.record import Order

from ..play.options import Options
from ..play.spiders import SIZES_COUNTED
from .oddities import PRESENT

THROTTLED_SHARE: Final = 0.6
THROTTLE_START_S: Final = (0.5, 2.0)
THROTTLE_MAX_S: Final = 3.0
"""No host is left alone for longer by what it takes to answer."""
THROTTLE_TARGETS: Final = (0.5, 1.0, 2.0)
DOWN_AFTER_S: Final = (3.0, 8.0, 20.0)
FIRST_BYTE_S: Final = 3.0
"""A host that says nothing is given up sooner than usually, so that it leaves ten requests without an answer while it
is away."""
AGAIN_S: Final = 45.0
AGAIN_TIMES: Final = 4
"""As often, and as far apart, pages that failed are visited again: longer than any host is away."""
SETTINGS: Final[dict[str, type]] = {
    SIZES_COUNTED: bool,
    "queue_order": str,
    "autothrottle_enabled": bool,
    "autothrottle_start_delay": float,
    "autothrottle_max_delay": float,
    "autothrottle_target_concurrency": float,
    "host_down_after": float,
    "first_byte_timeout": float,
    "retry_failed_after": float,
    "retry_failed_times": int,
}
"""All that is drawn, and of what kind it is."""


def drawn_settings(options: Options) -> dict[str, Any]:
    """Draws what the job is set to, as far as the options say that anything is."""
    drawn: dict[str, Any] = {}
    if "settings" in options.draws:
        drawn |= _usual(Random(f"{options.seed}/settings of the job"))
    if "absences" in options.draws and options.scenario not in PRESENT:
        drawn |= _of_absences(Random(f"{options.seed}/settings for absences"))
    return drawn


def _usual(dice: Random) -> dict[str, Any]:
    drawn: dict[str, Any] = {SIZES_COUNTED: True, "queue_order": str(dice.choice(list(Order)))}
    if dice.random() < THROTTLED_SHARE:
        drawn |= {
            "autothrottle_enabled": True,
            "autothrottle_start_delay": dice.choice(THROTTLE_START_S),
            "autothrottle_max_delay": THROTTLE_MAX_S,
            "autothrottle_target_concurrency": dice.choice(THROTTLE_TARGETS),
        }
    return drawn


def _of_absences(dice: Random) -> dict[str, Any]:
    drawn: dict[str, Any] = {"host_down_after": dice.choice(DOWN_AFTER_S), "first_byte_timeout": FIRST_BYTE_S}
    if dice.random() < 0.5:
        drawn |= {"retry_failed_after": AGAIN_S, "retry_failed_times": AGAIN_TIMES}
    return drawn
