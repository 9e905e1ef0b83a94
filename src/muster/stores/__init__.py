"""The database: the implementation of `ports.store.Store` in SQL, for SQLite and PostgreSQL.

Tables, migrations, queries and the group committer belong here. Decisions about jobs, clocks, and anything but SQL
inside a transaction do not. No other package contains SQL.

    opening           opens a store from a URL and upgrades its schema
    sql_store         the Store: reads in a thread pool, writes through the committer
    committing        group commit: one writer thread, one transaction for all waiting changes
    writing           writes Changes to the tables
    jobs, job_listing, job_metrics, job_notes, experiments, tasks, events, accounts, packages, node_marks, run_history,
    secrets, templates
                      statements and rows, one module per subject
    secret_box        encrypts the values of secrets, before they come to a store
    resealing         encrypts all of them anew
    tables, codec     the schema; domain values as columns
    database_engines  URLs, connections and errors of SQLite and PostgreSQL
    schema_version, schema_creation, migrating, migrations
                      the version of the schema, its creation, and its upgrade in a process of its own
"""
