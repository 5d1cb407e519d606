"""Boards of jobs that run: what follows at a master when one is added, changed, taken away, or has had enough"""
