"""Running scenarios: the runs, their tables and folders, and the machine's resources."""
