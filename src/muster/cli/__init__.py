"""The `muster` command: reads arguments, calls the client, prints.

Belongs here: words, tables, colours, exit codes. Does not belong here: any rule about jobs (the server owns those) and
any import of server code; a command starts in a tenth of a second because nothing is imported that it does not use.

Exit codes: 0 done, 1 the job or the request failed, 2 wrong usage, 124 a wait timed out, 130 interrupted.
"""
