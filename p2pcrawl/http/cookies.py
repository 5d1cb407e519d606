"""A jar for the cookies that answers set, as spiders keep one for themselves."""

from p2pcrawl.spiders.requests.own_jar import OwnCookieJar as CookieJar

__all__ = ["CookieJar"]
