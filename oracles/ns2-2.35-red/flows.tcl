# Two greedy flows of ns-2.35 through a RED queue.
#
#   ns flows.tcl TCP QUEUE WAIT SEED SECONDS
#
# TCP is Newreno or Reno; QUEUE is RED or dsRED (one precedence, RIO-C); WAIT is wait_ of RED. Standard output, in a line: the
# average of the packets waiting, the part of the arrivals at the queue that it dropped, time-outs, and packets acknowledged.
# The network is that of ns-2's own tests of RED: thresholds 5 and 15, max_p 0.1, limit 60, packets of 1000 bytes.

lassign $argv tcp kind wait seed seconds

Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set windowInit_ 1
Agent/TCP set window_ 64
Agent/TCP set tcpTick_ 0.0001
Agent/TCP set minrto_ 1
Agent/TCP set singledup_ 0
Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1000
Agent/TCPSink set packetSize_ 40
Queue/RED set thresh_ 5
Queue/RED set maxthresh_ 15
Queue/RED set linterm_ 10
Queue/RED set q_weight_ 0.002
Queue/RED set mean_pktsize_ 1000
Queue/RED set wait_ $wait
Queue/RED set gentle_ false
Queue/RED set setbit_ false
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set adaptive_ 0

ns-random $seed
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right 1.5Mb 20ms [expr {$kind eq "RED" ? "RED" : "dsRED/core"}]
$ns simplex-link $right $left 1.5Mb 20ms DropTail
$ns queue-limit $left $right 60
$ns queue-limit $right $left 1000
if {$kind eq "dsRED"} {
    set queue [[$ns link $left $right] queue]
    $queue meanPktSize 1000
    $queue set numQueues_ 1
    $queue setNumPrec 1
    $queue setMREDMode RIO-C 0
    $queue addPHBEntry 0 0 0
    $queue configQ 0 0 5 15 0.1 0.002
}
set monitor [$ns monitor-queue $left $right ""]
set flows {}
foreach {near far} {2ms 4ms 3ms 5ms} {
    set from [$ns node]
    set to [$ns node]
    $ns duplex-link $from $left 10Mb $near DropTail
    $ns duplex-link $right $to 10Mb $far DropTail
    foreach {a b} [list $from $left $left $from $right $to $to $right] { $ns queue-limit $a $b 1000 }
    set flow [new Agent/TCP/$tcp]
    set sink [new Agent/TCPSink]
    $ns attach-agent $from $flow
    $ns attach-agent $to $sink
    $ns connect $flow $sink
    set source [new Application/FTP]
    $source attach-agent $flow
    $ns at [$defaultRNG uniform 0 1] "$source start"
    lappend flows $flow
}

proc finish {} {
    global flows monitor seconds
    set integrator [$monitor get-pkts-integrator]
    $integrator newpoint $seconds [$monitor set pkts_]
    set timeouts 0
    set acknowledged 0
    foreach flow $flows {
        incr timeouts [$flow set nrexmit_]
        incr acknowledged [expr {[$flow set ack_] + 1}]
    }
    set dropped [expr {double([$monitor set pdrops_]) / [$monitor set parrivals_]}]
    puts "[expr {[$integrator set sum_] / $seconds}] $dropped $timeouts $acknowledged"
    exit 0
}
$ns at $seconds finish
$ns run
