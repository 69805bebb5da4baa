"""Documents about runs, campaigns and studies, filled once and drawn as text or as pages."""
