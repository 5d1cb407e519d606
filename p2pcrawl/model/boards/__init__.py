"""Boards as they travel with a job: their texts, their versions, and the marks of their pages"""
