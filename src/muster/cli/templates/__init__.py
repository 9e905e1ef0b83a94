"""How the files of job templates are found, written and read."""
