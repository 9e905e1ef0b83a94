"""Composes what is started for every task of a gang: command, environment, files, and the container around it.

Pure functions belong here: one module per framework, virtual and conda environments, GPU visibility, folder paths,
symbols for addresses that are not known yet, and the command lines of container engines. IO, clocks, the server's own
environment, and the script or manifest format of a single backend do not.
"""
