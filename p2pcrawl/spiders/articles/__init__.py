"""Reading pages without selectors: the article on one, the whole page as Markdown, and what it says of itself."""
