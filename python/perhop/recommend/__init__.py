"""The best ACK marking for a scenario: candidates, goals, and the answer in words."""
