"""Changes of boards while jobs run: what follows from them at a master, and the entries that they put in"""
