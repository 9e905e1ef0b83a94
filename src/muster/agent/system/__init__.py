"""The foundations of the agent: its event loop, frames to the server, /proc, inotify, and short-lived child programs.

Belongs here: wrappers of the operating system that know nothing of tasks. Does not belong here: anything that names a
task, a GPU or a folder that people use.
"""
