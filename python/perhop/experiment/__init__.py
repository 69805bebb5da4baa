"""Designed experiments: factors, designs, responses, and the runs that they take."""
