"""Two-way TCP over an asymmetric link: the study of Kalampoukas, Varma and Ramakrishnan (1997)."""
