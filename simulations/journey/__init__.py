"""Follows one URL, and the news of one death, through the code of a simulated cluster.

python -m simulations journey [--death]
"""
