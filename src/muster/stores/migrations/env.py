"""Run by Alembic inside `migrating`, which hands the connection over with its transaction and lock already held."""

from alembic import context

from muster.stores.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
