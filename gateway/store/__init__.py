"""The only SQL: tables, migrations and the queries by subject."""
