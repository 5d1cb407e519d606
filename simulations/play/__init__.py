"""The play: its options, the stage with its faults in words, and what is recorded of it."""
