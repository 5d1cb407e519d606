"""Hooks: what people's components hold on to in a slave: the crawl's handle, its signals and its stats."""
