"""Membership: SWIM with Lifeguard, as one state machine in parts."""
