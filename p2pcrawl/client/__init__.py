"""Programs' side of a peer's API: its address, the token that calls are signed with, the calls, and their errors."""
