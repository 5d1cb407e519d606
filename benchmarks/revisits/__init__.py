"""Pages that are visited again: what finding them costs, and how fresh a crawl is for how many fetches."""
