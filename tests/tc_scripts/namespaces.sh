# a test bed: another namespace, a class that changes, a filter and a class that go
NS="ip netns exec lab"
set -e
ip link set eth0 up
tc -n lab qdisc replace dev eth0 root handle 1: htb default 20
$NS tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit ceil 10mbit
$NS tc class add dev eth0 parent 1:1 classid 1:10 htb rate 4mbit ceil 10mbit
$NS tc class add dev eth0 parent 1:1 classid :20 htb rate 6mbit ceil 10mbit
$NS tc class add dev eth0 parent 1:1 classid 1:30 htb rate 1mbit
$NS tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
$NS tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dsfield 0x20 0xfc flowid 1:30
$NS tc class change dev eth0 parent 1:1 classid 1:10 htb rate 2mbit ceil 10mbit prio 1
$NS tc filter del dev eth0 parent 1: protocol ip prio 2 u32
$NS tc class del dev eth0 classid 1:30
echo "tc qdisc add dev eth0 is done"
