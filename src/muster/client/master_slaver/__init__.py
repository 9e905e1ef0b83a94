"""The folder of the old master/slaver GPU task manager, and what it becomes in Muster.

Reading the folder and translating it belong here: its settings, its list of nodes, and its waiting, running and ended
tasks. What is not honoured is listed, field by field. Its socket protocol is not imitated. Writing, submitting and
printing do not belong here.
"""
