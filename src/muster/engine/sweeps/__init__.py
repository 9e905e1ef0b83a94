"""Sweeps: what users ask of them, and the loop that makes their members, stops them and notices their end.

Members are jobs like any other, so what concerns one job is not here.
"""
