"""The copies that a master holds for others."""
