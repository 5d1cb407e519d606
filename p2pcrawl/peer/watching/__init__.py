"""The notes that a peer takes of itself while it works, for those who look: figures, and how they change."""
