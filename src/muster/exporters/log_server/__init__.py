"""The sending side of the log server: what a record says, and its way from the outbox to the log server."""
