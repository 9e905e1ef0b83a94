"""Pictures of what the API answers: drawn as SVG, and converted to PNG where the machine has a program for it.

Belongs here: drawing, for the command line and the monitor. Does not belong here: asking for what is drawn. Only the
standard library is needed.
"""
