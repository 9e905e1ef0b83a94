"""`muster paddlecloud`: the commands, flags and tables of the paddlecloud client, against any Muster server.

The words of that client belong here, and what they mean to Muster. The commands use Muster's own REST API, as all
commands do, and the submit request is a job file of the dialect `paddlecloud`, which the server reads.
"""
