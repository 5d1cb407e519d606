"""Laws of the cluster: members, owners, copies, and their bounds."""
