"""The workbench: hosts with seats, the best part of their queues, and the order of granting."""
