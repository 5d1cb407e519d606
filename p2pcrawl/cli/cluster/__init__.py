"""The verbs that speak to a peer of a cluster, or start one."""
