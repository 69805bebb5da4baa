# the form of OpenWrt's qos-scripts: hfsc, which perhop does not have
insmod sch_hfsc
tc qdisc del dev pppoe-wan root
tc qdisc add dev pppoe-wan root handle 1: hfsc default 30
tc class add dev pppoe-wan parent 1: classid 1:1 hfsc sc rate 1024kbit ul rate 1024kbit
tc class add dev pppoe-wan parent 1:1 classid 1:10 hfsc rt m1 510kbit d 1333us m2 102kbit ls m2 510kbit ul rate 1024kbit
tc class add dev pppoe-wan parent 1:1 classid 1:30 hfsc ls m2 51kbit ul rate 1024kbit
tc qdisc add dev pppoe-wan parent 1:10 handle 100: fq_codel limit 800 quantum 300
tc filter add dev pppoe-wan parent 1: prio 1 protocol ip handle 1 fw flowid 1:10
