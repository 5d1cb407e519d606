"""Revisits: what follows from the end of a visit for the next one"""
