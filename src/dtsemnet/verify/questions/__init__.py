"""Questions about a tree on a domain, one file per question."""
