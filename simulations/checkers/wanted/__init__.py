"""Checkers of what a job was asked for besides its pages: visits on periods, runs on a calendar, no text twice."""
