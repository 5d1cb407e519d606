"""Revisits: which page is to be asked again, when, and how many of a host in an hour"""
