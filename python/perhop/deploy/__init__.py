"""What makes a Linux host mark its ACKs as a scenario asks: rules for nftables, or commands for eBPF."""
