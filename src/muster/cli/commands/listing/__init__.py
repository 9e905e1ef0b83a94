"""What `muster get` lists: one module for each kind of thing."""
