"""`perhop serve`: runs and campaigns in the browser, on this machine alone."""
