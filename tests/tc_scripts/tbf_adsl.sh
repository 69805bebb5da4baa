# man tc-tbf, with a queue inside
tc qdisc add dev eth0 handle 10: root tbf rate 500kbit burst 5kb latency 70ms peakrate 1mbit minburst 1540
tc qdisc add dev eth0 parent 10:1 handle 100: fq_codel
ethtool -K eth0 tso off
