"""SQLite: tables, schema, sums over rows, and whether a file is whole."""
