"""The moments at which schedules are due, and what counts when masters know different things of them."""
