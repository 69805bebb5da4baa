# the older sqm-scripts: tiers by marks of both IP versions
TC=/sbin/tc
IF=ge00
$TC qdisc add dev $IF root handle 1: htb default 12
$TC class add dev $IF parent 1: classid 1:1 htb quantum 1500 rate 4000kbit ceil 4000kbit
$TC class add dev $IF parent 1:1 classid 1:11 htb quantum 1500 rate 128kbit ceil 1333kbit prio 1
$TC class add dev $IF parent 1:1 classid 1:12 htb quantum 1500 rate 666kbit ceil 3984kbit prio 2
$TC class add dev $IF parent 1:1 classid 1:13 htb quantum 1500 rate 666kbit ceil 3984kbit prio 3
$TC qdisc add dev $IF parent 1:11 handle 110: pie target 20ms
$TC qdisc add dev $IF parent 1:12 handle 120: codel
$TC filter add dev $IF parent 1:0 protocol ip prio 10 u32 match ip tos 0xb8 0xfc classid 1:11
$TC filter add dev $IF parent 1:0 protocol ipv6 prio 11 u32 match ip6 priority 0xb8 0xfc classid 1:11
$TC filter add dev $IF parent 1:0 protocol ip prio 12 u32 match ip tos 0x20 0xfc classid 1:13
$TC filter add dev $IF parent 1:0 protocol ip prio 13 u32 match ip dport 53 0xffff classid 1:11
