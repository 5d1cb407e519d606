"""The verbs of boards: looked at, and changed in a job that runs"""
