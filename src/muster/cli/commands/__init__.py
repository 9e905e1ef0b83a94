"""One module for each command or small group of commands. It is imported only when the command is called."""
