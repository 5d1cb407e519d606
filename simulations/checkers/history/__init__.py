"""Checkers of what was said while a run went on: each word was judged by a model when it was said."""
