"""The standing of proxies: which are verified, which rest, and which one a request goes through."""
