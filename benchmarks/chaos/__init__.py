"""Random faults against real processes, disks and networks, round after round, judged from outside: the campaign of
``make chaos``.
"""
