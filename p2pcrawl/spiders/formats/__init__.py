"""Files that are no pages, read piece by piece: sitemaps, nodes of XML, rows of CSV, entries of news feeds."""
