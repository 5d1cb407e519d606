"""The sink of tables, against SQLite and real servers of PostgreSQL and MariaDB."""
