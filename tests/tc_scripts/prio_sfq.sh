# LARTC: bands by TOS, a queue for each, one filter more
tc qdisc add dev eth0 root handle 1: prio
tc qdisc add dev eth0 parent 1:1 handle 10: sfq
tc qdisc add dev eth0 parent 1:2 handle 20: pfifo limit 40
tc qdisc add dev eth0 parent 1:3 handle 30: sfq perturb 10
tc filter add dev eth0 protocol ip parent 1: prio 1 u32 match ip dport 22 0xffff flowid 1:1
tc filter add dev eth0 protocol ip parent 1: prio 2 u32 match ip tos 0xb8 0xfc flowid 1:1
