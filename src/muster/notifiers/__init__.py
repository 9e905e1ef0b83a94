"""Ways by which notices reach people: mail, webhooks and the robots of chats.

Belongs here: how a notice is packed and sent, and how an answer is judged. Does not belong here: when a notice is
sent, what it says, and sending it again. Each module blocks, so that callers use a thread.
"""
