"""What is said of runs, campaigns and studies, filled once and drawn as text or as pages."""
