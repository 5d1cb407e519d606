"""Dead letters, drawn: databases refuse some items until somebody has them take all, and people have what was refused
sent again, before that and after it.
"""

from __future__ import annotations

from random import Random
from typing import Final

from ..play.faults import Fault
from ..play.options import Options

ASKED: Final = (1, 4)
"""So often people ask for it, at any time: twice at once, too."""


def drawn_letters(options: Options) -> list[Fault]:
    """Draws when databases begin to take all, and when people ask whom."""
    dice = Random(f"{options.seed}/letters")
    made = [
        Fault(place="letters", do="refuse-items", at_s=0.0),
        Fault(place="no more letters", do="take-items", at_share=round(dice.uniform(0.2, 0.95), 2)),
    ]
    for number in range(dice.randint(*ASKED)):
        share, who = round(dice.uniform(0.05, 0.98), 2), f"m{dice.randrange(options.masters)}"
        made.append(
            Fault(place=f"letters {number + 1}", do="send-letters", at_share=share, who=(who,), change={"job": ""})
        )
    return made
