"""Scenarios of networks that lose, cut, flap, or carry hostile bytes."""
