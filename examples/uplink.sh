#!/bin/sh
# The uplink of an office, 20 Mbit/s: calls first, ACKs and the rest in their shares, a bulk class last.
#
#   perhop import tc examples/uplink.sh

DEV=${1:-eth0}
UP=20mbit

tc qdisc del dev $DEV root 2>/dev/null
tc qdisc add dev $DEV root handle 1: htb default 30
tc class add dev $DEV parent 1: classid 1:1 htb rate $UP
tc class add dev $DEV parent 1:1 classid 1:10 htb rate 2mbit ceil $UP prio 0
tc class add dev $DEV parent 1:1 classid 1:20 htb rate 2mbit ceil $UP prio 1
tc class add dev $DEV parent 1:1 classid 1:30 htb rate 12mbit ceil $UP prio 2
tc class add dev $DEV parent 1:1 classid 1:40 htb rate 4mbit ceil $UP prio 3

tc qdisc add dev $DEV parent 1:10 handle 10: pfifo limit 50
tc qdisc add dev $DEV parent 1:30 handle 30: fq_codel memory_limit 8mb
tc qdisc add dev $DEV parent 1:40 handle 40: red limit 90k min 15k max 45k avpkt 1500 burst 20 probability 0.1

tc filter add dev $DEV parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
# pure ACKs
tc filter add dev $DEV parent 1: protocol ip prio 2 u32 match ip protocol 6 0xff match u8 0x05 0x0f at 0 \
    match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33 flowid 1:20
# backups
tc filter add dev $DEV parent 1: protocol ip prio 3 u32 match ip dport 873 0xffff flowid 1:40
