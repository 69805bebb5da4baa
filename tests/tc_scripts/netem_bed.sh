# a test bed that delays some: netem in a class
tc qdisc del dev eth0 root 2>/dev/null || true
tc qdisc add dev eth0 root handle 1: htb default 11
tc class add dev eth0 parent 1: classid 1:1 htb rate 1gbit
tc class add dev eth0 parent 1:1 classid 1:11 htb rate 100mbit
tc class add dev eth0 parent 1:1 classid 1:12 htb rate 100mbit
tc qdisc add dev eth0 parent 1:12 handle 12: netem delay 50ms 10ms distribution normal
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst 192.0.2.7/32 flowid 1:12
