"""The simulated machine room: virtual time, one loop, a network, and code that cannot tell."""
