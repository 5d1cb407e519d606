"""Links taken from pages with their texts, and chosen by patterns, domains, regions and endings: LinkExtractor."""
