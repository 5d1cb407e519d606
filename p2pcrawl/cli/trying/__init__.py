"""Verbs that try things out on single pages, before there is a crawl: what comes of a URL, a callback, a spider."""
