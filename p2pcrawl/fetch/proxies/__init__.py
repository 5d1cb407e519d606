"""The pool of proxies: where candidates come from, how they are verified, and the fetcher that goes through them."""
