"""A simulated world: machines with disks, slaves, strangers, and a web that is known."""
