"""Job templates: those that Muster has, in `built_in`, and how the files of any template are written and read.

`built_in` has no Python package: each of its folders is what `muster init` writes.
"""
