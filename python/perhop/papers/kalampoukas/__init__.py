"""Two-way TCP over an asymmetric link: the study of Kalampoukas and others (1997)."""
