"""Majority: the electorate of a divided cluster, and its consent."""
