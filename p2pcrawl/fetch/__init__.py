"""The shell that talks HTTP: one client, one guard of networks, and an ordered chain of components around them.

A request passes the chain's components down to :class:`~p2pcrawl.fetch.connection.client.HttpClient` and its answer
passes them back up. Everything that a host sends is treated as hostile: every length, time and
number has a limit.
"""
