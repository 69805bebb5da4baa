"""A TCP-friendly traffic marker: the study of Feroz, Kalyanaraman and Rao (2000)."""
