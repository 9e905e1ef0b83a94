"""The Alembic migrations. A migration never imports `tables`, because it describes the schema of its own time."""
