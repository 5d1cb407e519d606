"""Plain data of a cluster: nodes, rumours, consent, placement."""
