"""A peer: one process of the cluster, as a master that owns buckets or as a slave that helps one."""
