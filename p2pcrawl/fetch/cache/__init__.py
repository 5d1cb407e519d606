"""The HTTP cache: answers that hosts gave earlier, on disk, in place of asking them again."""
