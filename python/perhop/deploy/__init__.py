"""ACK marking on a Linux host as in a scenario: rules for nftables, or commands for eBPF."""
