"""One module for each command or small group of commands, imported only when it is called."""
