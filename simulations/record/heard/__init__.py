"""The record of single words: requests until they are answered, what slaves say, and how ends of jobs are found."""
