"""The scheduler by itself: how good its schedules are on traces of others, and how fast it decides.

Belongs here: what is replayed or made up, how it is driven, and the lines of others that it is held to. Does not belong
here: any scheduling. What decides is `muster.scheduling`, as the server and `muster sim` use it.
"""
