"""Facts about a page."""

from p2pcrawl.spiders.aids.page_facts import get_base_url, get_meta_refresh, open_in_browser, response_status_message

__all__ = ["get_base_url", "get_meta_refresh", "open_in_browser", "response_status_message"]
