"""Alembic runs this file from `migrating`, which passes in a connection that already holds the transaction and lock."""

from alembic import context

from muster.stores.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
