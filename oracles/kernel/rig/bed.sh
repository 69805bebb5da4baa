#!/bin/bash
# bed.sh PROGRAMS RATE_BIT_S QUEUE_PACKETS ROUND_TRIP_US KIND WORD...
#
# Four namespaces in a row: sender -100 Mbit/s- router -tbf RATE, pfifo QUEUE- wire - receiver. PROGRAMS has `flows` and `delay`; KIND is
# `send` or `burst` of `flows`, and each WORD what it wants after the address and the port. It prints what the sender says, what the wire says and what the
# bottleneck dropped, a line each. Started by rig.py inside namespaces of its own, so that nothing is left, whatever ends it.
set -euo pipefail
programs=$1 rate=$2 queue=$3 round_trip=$4 kind=$5
shift 5

# octets of a full segment as IP has it: 1460 of payload and 52 of headers, timestamps among them
packet=1512
# rates count octets of IP, without the 14 of Ethernet
as_ip="stab overhead -14 linklayer ethernet mpu 0"

mount -t tmpfs none /run
for host in s r w d; do
  ip netns add $host
  ip netns exec $host sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
done
ip netns exec r sysctl -qw net.ipv4.ip_forward=1
for host in s d; do
  # what the profile `linux` says
  ip netns exec $host sysctl -qw net.ipv4.tcp_sack=1 net.ipv4.tcp_dsack=1 net.ipv4.tcp_recovery=1 net.ipv4.tcp_frto=2 \
    net.ipv4.tcp_early_retrans=3 net.ipv4.tcp_timestamps=1 net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_ecn=2 \
    net.ipv4.tcp_slow_start_after_idle=1 net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_mtu_probing=0 \
    net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_wmem="4096 65536 6291456"
done

# cable A INTERFACE_A B INTERFACE_B: a veth pair, one packet a segment
cable() {
  ip link add "$2" mtu $packet netns "$1" type veth peer name "$4" mtu $packet netns "$3"
  for end in "$1 $2" "$3 $4"; do
    ip netns exec ${end% *} ethtool -K ${end#* } tso off gso off gro off sg off tx off rx off >/dev/null
    ip -n ${end% *} link set ${end#* } up
  done
}
cable s out r in
cable r out w in
cable w out d in
ip -n s address add 10.9.0.1/24 dev out
ip -n r address add 10.9.0.2/24 dev in
ip -n r address add 10.9.1.1/24 dev out
ip -n d address add 10.9.1.2/24 dev in
ip -n s route add default via 10.9.0.2
ip -n d route add default via 10.9.1.1
# no ARP while packets pass
knows() { ip -n "$1" neigh replace "$3" lladdr "$(ip netns exec "$4" cat "/sys/class/net/$5/address")" dev "$2" nud permanent; }
knows s out 10.9.0.2 r in
knows r in 10.9.0.1 s out
knows r out 10.9.1.2 d in
knows d in 10.9.1.1 r out

# link HOST INTERFACE RATE PACKETS: a rate with a queue. A bucket of one packet is the packet that a link transmits: a burst then loses as many
# packets as it does at a link (`rig.py --bursts`). The eighth more is what a timer may be late without a loss of rate.
link() {
  ip netns exec "$1" tc qdisc add dev "$2" root handle 1: $as_ip tbf rate "$3"bit burst $((packet * 9 / 8)) limit 10000000
  ip netns exec "$1" tc qdisc replace dev "$2" parent 1: pfifo limit "$4"
}
link s out 100000000 4000
link r in 100000000 4000
link r out "$rate" "$queue"
link d in "$rate" 4000

# tbf lets a packet go when its transmission begins; a link when it ends
transmission=$((packet * 8 * 1000000 / rate))
ip netns exec w "$programs/delay" in out $((round_trip / 2 + transmission)) $((round_trip / 2)) >/run/wire &
wire=$!
ip netns exec d chrt -f 40 "$programs/flows" receive 5000 &
receiver=$!
sleep 0.2
ip netns exec s chrt -f 30 "$programs/flows" "$kind" 10.9.1.2 5000 "$@"
# ip netns exec becomes the program
kill $wire $receiver
wait $wire
cat /run/wire
ip netns exec r tc -s -j qdisc show dev out | tr -d '\n'
