"""Jobs: taken in, told to all masters, run, ended, certified, and their items delivered."""
