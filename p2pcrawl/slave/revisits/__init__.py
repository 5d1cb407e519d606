"""Revisits: requests that ask only for what is new, and what tells that a page says what it said before"""
