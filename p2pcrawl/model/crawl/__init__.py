"""Plain data of a crawl: requests, answers, records, jobs, settings."""
