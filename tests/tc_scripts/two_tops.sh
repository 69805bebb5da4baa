# a laboratory's: a class of its own beside a tree, addresses, a drop of what is not wanted
tc qdisc del dev eth0 root
tc qdisc add dev eth0 root handle 1:0 htb default 14
tc class add dev eth0 parent 1:0 classid 1:1 htb rate 100mbit 
tc filter add dev eth0 protocol ip parent 1:0 prio 1 u32 match ip protocol 1 0xff action drop
tc class add dev eth0 parent 1:0 classid 1:10 htb rate 80mbit prio 1
tc class add dev eth0 parent 1:10 classid 1:11 htb rate 5mbit ceil 40mbit prio 1
tc class add dev eth0 parent 1:10 classid 1:14 htb rate 5mbit ceil 20mbit prio 2
tc filter add dev eth0 protocol ip parent 1:0 prio 1 u32 match ip dst 192.0.2.0/24 flowid 1:11
tc filter add dev eth0 protocol ip parent 1:0 prio 2 u32 match ip dst 198.51.100.0/24 match ip protocol 17 0xff flowid 1:1
service ssh start
