"""Boards of a job in a slave: which of their pages are asked for, and when again"""
