"""The words of p2pcrawl as frozen values. Imports nothing but the standard library."""
