"""The company of a master, be it alone or among others: what its parts stand on, and what they ask of those among whom
it is.
"""
