"""The GPUs of this machine: which there are, how busy they are, and which of them are out of service.

Belongs here: drivers, vendor tools and the fake GPUs of tests. Does not belong here: who may use a GPU, which the
server decides.
"""
