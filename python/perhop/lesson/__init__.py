"""Lessons: questions that are data, a student's predictions, and the runs that judge them."""
