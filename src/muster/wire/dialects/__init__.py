"""Job files of other systems, told in Muster's own spec: a PaddleJob of paddle-operator, an OpenPAI protocol-2 job.

Belongs here: foreign words and what each means in a Muster spec, and saying exactly what cannot be honoured. Does not
belong here: validating the spec that comes out (wire.specs), or what a backend can do of it (engine, backends).
"""
