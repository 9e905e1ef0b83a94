"""The description of the PaddleJob resource, from which the files under `deploy` are written.

`pytest --update-golden tests/unit/deploy` writes them anew; without the option it compares them."""
