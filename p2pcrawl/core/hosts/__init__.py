"""Manners towards hosts: delays, pauses, silence, and when a failed attempt is made again."""
