"""Use cases and loops: what happens to a job from submission to history.

Belongs here: the order of steps, intent before act, who wakes whom. Does not belong here: SQL, HTTP, processes, and the
rules themselves, which are pure and live in `domain`, `scheduling` and `launch`.

    commands ──► Queued ──► cycling ──► launching ──► backend
                                                        │ observations
    history ◄── final state ◄── settling ◄── observing ◄┘

One loop, many small steps. Each step takes the job's turn, reads memory, commits one Change, and only then shows it to
the rest. After a crash `reconciling` compares what the backend has with what the store says, and goes on.
"""
