"""The routes, one module for each subject. A route reads the request, checks the right, calls the engine and builds the
answer."""
