"""``--partition majority``: ballots, consent, and the electorate on disk."""
