"""Translates job files of other systems into Muster's spec, with a package for each system.

Belongs here: foreign words and what each means in a Muster spec, and reporting exactly what cannot be honoured. Does
not belong here: validating the resulting spec (wire.specs), or what a backend supports (engine, backends).
"""
