# DiffServ as the examples of iproute2 had it: dsmark and tcindex before the classes
tc qdisc add dev eth2 root handle 1:0 dsmark indices 64 set_tc_index
tc filter add dev eth2 parent 1:0 protocol ip prio 1 \
	tcindex mask 0xfc shift 2
tc qdisc add dev eth2 parent 1:0 handle 2:0 htb
tc class add dev eth2 parent 2:0 classid 2:1 htb rate 2.4Mbit
tc class add dev eth2 parent 2:1 classid 2:10 htb rate 1Mbit ceil 1Mbit
tc class add dev eth2 parent 2:1 classid 2:11 htb rate 500kbit ceil 2.4Mbit
tc class add dev eth2 parent 2:1 classid 2:12 htb rate 400kbit ceil 2.4Mbit
tc qdisc add dev eth2 parent 2:10 pfifo limit 5
tc qdisc add dev eth2 parent 2:11 red limit 60KB min 15KB max 45KB burst 20 avpkt 1000 bandwidth 2.4Mbit probability 0.4
tc filter add dev eth2 parent 2:0 protocol ip prio 1 handle 46 tcindex classid 2:10 pass_on
tc filter add dev eth2 parent 2:0 protocol ip prio 1 handle 26 tcindex classid 2:11
