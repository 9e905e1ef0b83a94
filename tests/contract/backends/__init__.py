"""What every backend must do: one suite over all of them. A new backend gets in with a harness of its own."""
