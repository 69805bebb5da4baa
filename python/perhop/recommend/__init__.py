"""Which ACK marking is best in a scenario: candidates, what they are weighed by, and the answer in words."""
