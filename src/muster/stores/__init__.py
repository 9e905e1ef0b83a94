"""What is durable, in SQL: the one implementation of `ports.store.Store`, for SQLite and PostgreSQL.

Belongs here: tables, migrations, queries, the group committer. Does not belong here: decisions about jobs, clocks,
anything that runs while a transaction is open and is not SQL. SQL is spoken nowhere else.

    opening     makes a store from a URL, schema brought to head
    sql_store   the Store itself: reads in a thread pool, writes through the committer
    committing  one writer thread; one transaction for everything that waits
    writing     what Changes do, table by table
    jobs, listing, tasks, events, accounts, packages    statements and rows, one module a subject
    tables, codec, engines    the schema, domain values as columns, how each database is spoken to
    schema, migrating, migrations    is it the schema we need, and the way to it in a process of its own
"""
