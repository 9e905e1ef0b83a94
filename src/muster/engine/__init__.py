"""Use cases and loops: what happens to a job from submission to history.

Belongs here: the order of steps, intents written before they are carried out, and what wakes which loop. Does not
belong here: SQL, HTTP, processes, and the rules themselves, which are pure and live in `domain`, `scheduling` and
`launch`.

    commands ──► Queued ──► cycling ──► launching ──► backend
                                                        │ observations
    history ◄── final state ◄─ completion ◄── observing ◄┘

There is one event loop with many small steps. Each step takes the job's lock, reads memory, commits one Change, and
only then updates memory. After a crash `reconciling` compares what the backend has with what the store says, and
continues from there.
"""
