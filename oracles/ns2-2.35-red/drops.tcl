# What a RED queue of ns-2.35 does with each of the listed arrivals.
#
#   ns drops.tcl QUEUE NAME=VALUE... < arrivals
#
# QUEUE is RED (Queue/RED) or RIO-C, RIO-D, WRED (dsRED/core with two precedences, averaged that way). Each NAME=VALUE is a
# setting: thresh, maxthresh, linterm (1/max_p), wait, gentle of RED; in, out (min,max,max_p) of dsRED; weight and limit of both.
# Standard input: tick (1/512 s), code point (10 is IN, 20 is OUT), length and seed of each arrival, in order. Standard output:
# tick, code point, length, the uniform draw that ns-2 used if it used one, the average or averages after the arrival, 1 if
# it was dropped. The link sends 1024 bytes in 8 ticks.

set kind [lindex $argv 0]
foreach setting [lrange $argv 1 end] { array set option [split $setting =] }

set ns [new Simulator]
set from [$ns node]
set to [$ns node]
if {$kind eq "RED"} {
    Queue/RED set thresh_ $option(thresh)
    Queue/RED set maxthresh_ $option(maxthresh)
    Queue/RED set linterm_ $option(linterm)
    Queue/RED set q_weight_ $option(weight)
    Queue/RED set wait_ $option(wait)
    Queue/RED set gentle_ $option(gentle)
    Queue/RED set mean_pktsize_ 1024
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set setbit_ false
    Queue/RED set adaptive_ 0
    $ns simplex-link $from $to 524288 1ms RED
    set queue [[$ns link $from $to] queue]
    proc averages {} { global queue; return [$queue set ave_] }
} else {
    $ns simplex-link $from $to 524288 1ms dsRED/core
    set queue [[$ns link $from $to] queue]
    $queue meanPktSize 1024
    $queue set numQueues_ 1
    $queue setNumPrec 2
    $queue setMREDMode $kind 0
    foreach {code precedence curve} [list 10 0 $option(in) 20 1 $option(out)] {
        foreach {min max p} [split $curve ,] {}
        $queue addPHBEntry $code 0 $precedence
        $queue configQ 0 $precedence $min $max $p $option(weight)
    }
    proc averages {} { global queue; return "[$queue getAverageV 0 0],[$queue getAverageV 0 1]" }
}
$ns queue-limit $from $to $option(limit)
set monitor [$ns monitor-queue $from $to ""]

foreach code {10 20} {
    set sender($code) [new Agent/UDP]
    $sender($code) set packetSize_ 4096
    $sender($code) set prio_ $code
    set receiver [new Agent/Null]
    $ns attach-agent $from $sender($code)
    $ns attach-agent $to $receiver
    $ns connect $sender($code) $receiver
}

# The generator that the queue draws from begins anew before each arrival, and so does its twin: this is how the draw is known.
set twin [new RNG]
proc arrive {tick code length seed} {
    global defaultRNG twin sender monitor
    set dropped [$monitor set pdrops_]
    $defaultRNG seed $seed
    $twin seed $seed
    set draw [$twin uniform 0 1]
    $sender($code) send $length
    puts "$tick,$code,$length,[format %.9f $draw],[averages],[expr {[$monitor set pdrops_] - $dropped}]"
}

while {[gets stdin line] >= 0} {
    set last [lindex $line 0]
    $ns at [expr {$last / 512.0}] "arrive $line"
}
$ns at [expr {$last / 512.0 + 1000}] "exit 0"
$ns run
