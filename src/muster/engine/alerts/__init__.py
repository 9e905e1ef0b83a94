"""What is not as it should be now, as far as the person who asks may know it.

Belongs here: finding alerts in what the engine knows at this moment. Does not belong here: keeping them, and sending
them to people.
"""
