"""Facts about URLs, and small changes of them."""

from w3lib.url import (
    add_or_replace_parameter,
    add_or_replace_parameters,
    any_to_uri,
    canonicalize_url,
    file_uri_to_path,
    is_url,
    parse_data_uri,
    parse_url,
    path_to_file_uri,
    safe_download_url,
    safe_url_string,
    url_query_cleaner,
    url_query_parameter,
)

from p2pcrawl.spiders.aids.url_facts import (
    add_http_if_no_scheme,
    strip_url,
    url_has_any_extension,
    url_is_from_any_domain,
    url_is_from_spider,
    urljoin_rfc,
)

__all__ = [
    "add_http_if_no_scheme",
    "add_or_replace_parameter",
    "add_or_replace_parameters",
    "any_to_uri",
    "canonicalize_url",
    "file_uri_to_path",
    "is_url",
    "parse_data_uri",
    "parse_url",
    "path_to_file_uri",
    "safe_download_url",
    "safe_url_string",
    "strip_url",
    "url_has_any_extension",
    "url_is_from_any_domain",
    "url_is_from_spider",
    "url_query_cleaner",
    "url_query_parameter",
    "urljoin_rfc",
]
