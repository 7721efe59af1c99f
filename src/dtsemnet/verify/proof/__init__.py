"""What answers rest on: domains, walks over a tree, linear programs and their certificates."""
