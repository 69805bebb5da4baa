"""Running scenarios: the runs, their tables and folders, and what the machine has for them."""
