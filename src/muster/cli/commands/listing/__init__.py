"""The commands below `muster get`, one module for each kind of object."""
