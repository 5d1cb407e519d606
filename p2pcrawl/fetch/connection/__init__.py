"""One request to one host: names, sockets, the guard at their door, limits of time and size."""
