"""The `muster` command: it reads arguments, calls the client and prints the result.

Texts, tables, colours and exit codes belong here. Rules about jobs do not, because the server owns them, and neither do
imports of server code: a command starts in a tenth of a second because it imports only what it uses.

Exit codes: 0 success, 1 the job or the request failed, 2 wrong usage, 124 a wait timed out, 130 interrupted.
"""
