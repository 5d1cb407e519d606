"""Scenarios of masters and slaves that die, restart, leave, or lose their disks."""
