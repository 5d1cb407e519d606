"""The reach of seeds: which lines of the protocol each comes to, and which faults befall which messages."""
