# what simple.qos of sqm-scripts comes to: three tiers by marks of a firewall, a table of sizes
tc qdisc del dev wan root
tc qdisc add dev wan root handle 1: stab mtu 2047 tsize 512 mpu 64 overhead 44 linklayer atm htb default 12
tc class add dev wan parent 1: classid 1:1 htb quantum 1500 rate 9000kbit ceil 9000kbit
tc class add dev wan parent 1:1 classid 1:10 htb quantum 1500 rate 9000kbit ceil 9000kbit prio 0
tc class add dev wan parent 1:1 classid 1:11 htb quantum 1500 rate 128kbit ceil 3000kbit prio 1
tc class add dev wan parent 1:1 classid 1:12 htb quantum 1500 rate 1500kbit ceil 8984kbit prio 2
tc class add dev wan parent 1:1 classid 1:13 htb quantum 1500 rate 1500kbit ceil 8984kbit prio 3
tc qdisc add dev wan parent 1:11 handle 110: fq_codel limit 1001 target 6ms noecn quantum 300
tc qdisc add dev wan parent 1:12 handle 120: fq_codel limit 1001 target 6ms noecn quantum 300
tc qdisc add dev wan parent 1:13 handle 130: fq_codel limit 1001 target 6ms noecn quantum 300
tc filter add dev wan parent 1:0 protocol all prio 999 u32 match ip protocol 0 0x00 flowid 1:12
tc filter add dev wan parent 1:0 protocol ip prio 1 handle 1 fw classid 1:11
tc filter add dev wan parent 1:0 protocol ip prio 3 handle 3 fw classid 1:13
tc filter add dev wan parent 1:0 protocol arp prio 7 handle 1 fw classid 1:11
tc filter add dev wan parent 1:0 protocol ip prio 8 u32 match ip protocol 1 0xff flowid 1:13
tc qdisc del dev wan handle ffff: ingress
tc qdisc add dev wan handle ffff: ingress
tc qdisc add dev ifb4wan root cake bandwidth 40mbit besteffort
