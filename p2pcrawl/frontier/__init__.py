"""The durable frontier: what is known of every URL, in SQLite."""
