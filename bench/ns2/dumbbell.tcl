# The dumbbell of bench/cases/ in ns-2: s(i) - r1 - r2 - d(i), endless Reno flows, an ACK per segment, no traces.
#
# ns dumbbell.tcl FLOWS ACCESS_BIT_S BOTTLENECK_BIT_S DELAY_S LIMIT_PACKETS MIN_TH MAX_TH MAX_P W_Q MEAN_PACKET MSS HEADER
#                 WINDOW_SEGMENTS INITIAL_WINDOW MIN_RTO_S JITTER_S SECONDS count|time
#
# "count" watches every link and prints the number of packets that left one; "time" watches nothing.

if {[llength $argv] != 18} {
    puts stderr "dumbbell.tcl: 18 arguments, see its first lines"
    exit 2
}
lassign $argv flows access bottleneck delay limit min_th max_th max_p w_q mean mss header window initial minrto jitter seconds mode

Agent/TCP set packetSize_ $mss
Agent/TCP set tcpip_base_hdr_size_ $header
Agent/TCP set window_ $window
Agent/TCP set windowInit_ $initial
Agent/TCP set maxcwnd_ 0
Agent/TCP set minrto_ $minrto
Agent/TCP set maxrto_ 60
Agent/TCPSink set packetSize_ $header

# as in Floyd and Jacobson 1993: drops, no marks, no slope above max_th, no distance between drops
Queue/RED set thresh_ $min_th
Queue/RED set maxthresh_ $max_th
Queue/RED set linterm_ [expr {1.0 / $max_p}]
Queue/RED set q_weight_ $w_q
Queue/RED set mean_pktsize_ $mean
Queue/RED set gentle_ false
Queue/RED set setbit_ false
Queue/RED set wait_ false
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set adaptive_ 0

set ns [new Simulator]
$defaultRNG seed 1
set starts [new RandomVariable/Uniform]
$starts set min_ 0
$starts set max_ $jitter

set watched {}
proc join_nodes {a b rate delay limit {queue DropTail}} {
    global ns mode watched
    $ns simplex-link $a $b $rate $delay $queue
    $ns simplex-link $b $a $rate $delay DropTail
    $ns queue-limit $a $b $limit
    # 1000 packets, as a port of perhop without a [[port]] table
    $ns queue-limit $b $a 1000
    if {$mode eq "count"} {
        lappend watched [$ns monitor-queue $a $b ""] [$ns monitor-queue $b $a ""]
    }
}

set r1 [$ns node]
set r2 [$ns node]
join_nodes $r1 $r2 $bottleneck $delay $limit RED
for {set i 0} {$i < $flows} {incr i} {
    set s [$ns node]
    set d [$ns node]
    join_nodes $s $r1 $access $delay 1000
    join_nodes $r2 $d $access $delay 1000
    set tcp [new Agent/TCP/Reno]
    set sink [new Agent/TCPSink]
    $tcp set fid_ $i
    $ns attach-agent $s $tcp
    $ns attach-agent $d $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$starts value] "$ftp start"
}

proc finish {} {
    global watched
    set hops 0
    foreach monitor $watched { set hops [expr {$hops + [$monitor set pdepartures_]}] }
    puts "hops [format %.0f $hops]"
    exit 0
}
$ns at $seconds finish
$ns run
