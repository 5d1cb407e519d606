"""Public spiders, run unchanged beside Scrapy over pages made up from what they select. Nothing of theirs is kept."""
