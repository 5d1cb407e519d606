"""Buckets as one master knows them: ownership, epochs, and which copies count."""
