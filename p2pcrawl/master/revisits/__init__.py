"""Revisits: when pages that have ended are due again, and the visits of those that are"""
