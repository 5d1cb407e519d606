"""Mistakes in what is believed to be on a disk: what is not synced, and what is not looked at when it is read again."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_DATABASE = "p2pcrawl.frontier.database."
_PRIVATE = "p2pcrawl.private."

MUTANTS = (
    Mutant(
        name="commits-not-synced",
        kind=Slip.EARLY,
        where=_DATABASE + "schema:_prepare",
        old="PRAGMA synchronous=FULL",
        new="PRAGMA synchronous=NORMAL",
        harm="What was committed goes with the power: a whole cluster that loses it has acknowledged what nobody has.",
    ),
    Mutant(
        name="torn-log-written-on",
        kind=Slip.CLEANUP,
        where=_DATABASE + "schema:_prepare",
        old='    execute("PRAGMA wal_checkpoint(TRUNCATE)")\n',
        new="",
        harm="After two losses of power in the middle of commits a sound database is taken for damaged.",
    ),
    Mutant(
        name="damaged-log-believed",
        kind=Slip.CHECK,
        where=_DATABASE + "schema:open_database",
        old="        if how := broken_log(path):\n            raise damaged(path, how)\n",
        new="",
        harm="Of a log that was damaged the rest is dropped without a word: the store is older than it says.",
    ),
    Mutant(
        name="database-not-looked-through",
        kind=Slip.CHECK,
        where=_DATABASE + "schema:_prepare",
        old="if how := look_through(connection, OPENING_S).damage:",
        new="if how := look_through(connection, 0.0).damage and '':",
        harm="Damage is come across somewhere in the middle of something else, if at all.",
    ),
    Mutant(
        name="tables-not-compared",
        kind=Slip.CHECK,
        where=_DATABASE + "schema:_prepare",
        old="    if how := other_shape(connection, layout):\n        raise damaged(path, how)\n",
        new="",
        harm="One letter of the name of a column turns over, and the master ends at each start, or never says why.",
    ),
    Mutant(
        name="draft-not-synced",
        kind=Slip.EARLY,
        where=_PRIVATE + "secrets:_draft",
        old="            os.fsync(number)\n",
        new="",
        harm="A loss of power leaves an empty file under a good name: nobody is missed, and voters forget.",
    ),
    Mutant(
        name="name-not-synced",
        kind=Slip.EARLY,
        where=_PRIVATE + "secrets:replace_secret",
        old="    sync_folder(path.parent)\n",
        new="",
        harm="A loss of power brings the file of before back: a vote that was given is not known any more.",
    ),
)
