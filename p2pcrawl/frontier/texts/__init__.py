"""Texts of pages that are known: which imprints are firsts, and the verdicts on others."""
