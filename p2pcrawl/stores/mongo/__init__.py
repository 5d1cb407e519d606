"""Sink of items in a MongoDB collection: each item one document, once, whatever is killed."""
