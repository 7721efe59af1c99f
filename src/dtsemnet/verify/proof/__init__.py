"""What proofs rest on: domains, the walk over a tree, linear programs and their certificates."""
