"""`muster monitor`: watches receivers from outside, and tells people when one fails, when it recovers, and once a week.

Belongs here: checking receivers over HTTP as any other user does, what is remembered between rounds, what notices say.
Does not belong here: how notices are sent (`notifiers`), and anything inside the server.

    receiver_checks ─► outcomes ─► rounds (pure) ─► stories ─► couriers ─► notifiers
                                      │
                                   state_file, written before anything is sent
"""
