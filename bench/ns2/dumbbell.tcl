# The dumbbells of bench/cases/ in ns-2: s(i) - r1 - r2 - d(i), endless flows, an ACK per segment, no traces, and nothing
# in a packet that no part of the scenario reads.
#
#   ns dumbbell.tcl KEY=VALUE ...
#
# Every key is in `needed` below; rates are in bit/s, times in s, thresholds in packets. `tcp` is Reno or Sack1. `queue` is
# red, with one threshold min/max/max_p, or gred, with three for green, yellow and red; then each s(i) - r1 is an edge with a
# trTCM of cir, pir, cbs and pbs, and the averages are coupled (RIO-C).
#
# mode=count watches every link and prints what left one (`hops`), and of r1 - r2 the bytes that left (`bytes`) and the
# packets dropped (`drops`); with it, and with mode=time, which watches nothing: `timeouts`, of all senders.

set needed {
    flows access bottleneck delay limit queue thresholds w_q mean tcp mss header window initial minrto jitter seconds mode
}
array set option {cir 0 pir 0 cbs 0 pbs 0}
foreach word $argv {
    lassign [split $word =] key value
    set option($key) $value
}
foreach key $needed {
    if {![info exists option($key)]} {
        puts stderr "dumbbell.tcl: no value for $key"
        exit 2
    }
}

# RTP: the edge of a DiffServ network writes no header of its own, and UDP is not here.
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
# all-pairs routes over two nodes a flow would dominate the run
$ns rtproto Manual
$defaultRNG seed 1
set starts [new RandomVariable/Uniform]
$starts set min_ 0
$starts set max_ $option(jitter)

Agent/TCP set packetSize_ $option(mss)
Agent/TCP set tcpip_base_hdr_size_ $option(header)
Agent/TCP set window_ $option(window)
Agent/TCP set windowInit_ $option(initial)
Agent/TCP set maxcwnd_ 0
Agent/TCP set minrto_ $option(minrto)
Agent/TCP set maxrto_ 60
Agent/TCPSink set packetSize_ $option(header)

# as in Floyd and Jacobson 1993: drops, no marks, no slope above max_th, no distance between drops
Queue/RED set q_weight_ $option(w_q)
Queue/RED set mean_pktsize_ $option(mean)
Queue/RED set gentle_ false
Queue/RED set setbit_ false
Queue/RED set wait_ false
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set adaptive_ 0

proc threshold {place} { split [lindex $::option(thresholds) $place] / }

# The queues of a DiffServ network: code points 10, 20, 30 are the drop precedences 0, 1, 2 of one queue.
proc differentiated {from to thresholds} {
    global ns option
    set queue [[$ns link $from $to] queue]
    $queue meanPktSize $option(mean)
    $queue set numQueues_ 1
    $queue setNumPrec 3
    foreach {code precedence} {10 0 20 1 30 2} threshold $thresholds {
        $queue addPHBEntry $code 0 $precedence
        $queue configQ 0 $precedence {*}$threshold $option(w_q)
    }
    return $queue
}
proc edge {host} {
    global option r1
    set queue [differentiated $host $r1 {{1000 1000 1} {1000 1000 1} {1000 1000 1}}]
    $queue setMREDMode DROP 0
    $queue addPolicyEntry -1 -1 trTCM 10 $option(cir) $option(cbs) $option(pir) $option(pbs)
    $queue addPolicerEntry trTCM 10 20 30
}

set watched {}
# 1000 packets, as a port of perhop without a [[port]] table
proc join_nodes {a b rate {queue DropTail} {limit 1000}} {
    global ns option watched
    $ns simplex-link $a $b $rate $option(delay) $queue
    $ns simplex-link $b $a $rate $option(delay) DropTail
    $ns queue-limit $a $b $limit
    $ns queue-limit $b $a 1000
    if {$option(mode) eq "count"} {
        lappend watched [$ns monitor-queue $a $b ""] [$ns monitor-queue $b $a ""]
    }
}
proc route {from to args} { eval [$from get-module Manual] add-route-to-adj-node $args $to }

set r1 [$ns node]
set r2 [$ns node]
if {$option(queue) eq "gred"} {
    join_nodes $r1 $r2 $option(bottleneck) dsRED/core $option(limit)
    [differentiated $r1 $r2 [list [threshold 0] [threshold 1] [threshold 2]]] setMREDMode RIO-C 0
    set access dsRED/edge
} else {
    lassign [threshold 0] min_th max_th max_p
    Queue/RED set thresh_ $min_th
    Queue/RED set maxthresh_ $max_th
    Queue/RED set linterm_ [expr {1.0 / $max_p}]
    join_nodes $r1 $r2 $option(bottleneck) RED $option(limit)
    set access DropTail
}
route $r1 $r2 -default
route $r2 $r1 -default
for {set i 0} {$i < $option(flows)} {incr i} {
    set s [$ns node]
    set d [$ns node]
    join_nodes $s $r1 $option(access) $access
    join_nodes $r2 $d $option(access)
    route $s $r1 -default
    route $r1 $s
    route $d $r2 -default
    route $r2 $d
    if {$option(queue) eq "gred"} { edge $s }
    set tcp($i) [new Agent/TCP/$option(tcp)]
    set sink [new Agent/TCPSink[expr {$option(tcp) eq "Sack1" ? "/Sack1" : ""}]]
    $tcp($i) set fid_ $i
    $ns attach-agent $s $tcp($i)
    $ns attach-agent $d $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [$starts value] "$ftp start"
}

proc finish {} {
    global option tcp watched
    set timeouts 0
    for {set i 0} {$i < $option(flows)} {incr i} { incr timeouts [$tcp($i) set nrexmit_] }
    puts "timeouts $timeouts"
    if {[llength $watched] > 0} {
        set hops 0
        foreach monitor $watched { set hops [expr {$hops + [$monitor set pdepartures_]}] }
        set bottleneck [lindex $watched 0]
        puts "hops [format %.0f $hops]"
        puts "bytes [format %.0f [$bottleneck set bdepartures_]]"
        puts "drops [format %.0f [$bottleneck set pdrops_]]"
    }
    exit 0
}
$ns at $option(seconds) finish
$ns run
