"""Live streams: what changes is told to everybody who looks at it, a few times a second.

One broadcaster serves all streams. It collects what has happened, makes each message once for all readers who may see
the same, and hands out the same bytes. Belongs here: topics, messages, what a reader has been told, and how far behind
it may be. Does not belong here: who may see what (`server.access`, `server.job_sight`), and what a job or a node looks
like (`wire.views`).
"""
