"""The schema through time, as Alembic scripts. A script never imports `tables`: it says what was true when written."""
