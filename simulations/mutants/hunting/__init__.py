"""The hunt for mutants: seed after seed, each run in a process of its own."""
