"""Mutants of the work: slaves, hosts, links, jobs and their ends, and where items go."""
