"""What is measured of Muster: a real server, driven over HTTP as any program would, and the bars it must meet.

Each module is one question and returns rows. Only `seeding` knows the database, because running 100,000 jobs
would take longer than the question is worth.
"""
