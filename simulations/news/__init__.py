"""News sites that live, crawled for a month by a cluster that dies now and then."""
