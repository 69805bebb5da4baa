# The colour that a TSW policer of ns-2.35 gives each of the listed arrivals.
#
#   ns tsw.tcl TSW2CM|TSW3CM NUMBER... < arrivals
#
# The numbers are those of `addPolicyEntry`: CIR and perhaps the window of TSW2CM, CIR and PIR of TSW3CM, in bit/s and s.
# Standard input: tick (1/512 s), length and seed of each arrival, in order. Standard output: tick, length, the uniform
# draw that ns-2 had for it, and the code point that it left with: 10 green, 12 yellow, 14 red.

set kind [lindex $argv 0]
set ns [new Simulator]
set from [$ns node]
set to [$ns node]
# thresholds beyond reach: the queue itself draws nothing and drops nothing
$ns simplex-link $from $to 1Gb 1ms dsRED/edge
set queue [[$ns link $from $to] queue]
$queue meanPktSize 1024
$queue set numQueues_ 1
$queue setNumPrec 3
foreach {code precedence} {10 0 12 1 14 2} {
    $queue addPHBEntry $code 0 $precedence
    $queue configQ 0 $precedence 100000 200000 0.1
}
$queue addPolicyEntry [$from id] [$to id] $kind 10 {*}[lrange $argv 1 end]
if {$kind eq "TSW2CM"} {
    $queue addPolicerEntry TSW2CM 10 14
} else {
    $queue addPolicerEntry TSW3CM 10 12 14
}
$ns queue-limit $from $to 100000

set sender [new Agent/UDP]
$sender set packetSize_ 4096
$ns attach-agent $from $sender
set receiver [new Agent/Null]
$ns attach-agent $to $receiver
$ns connect $sender $receiver

proc counts {} {
    global queue
    return [list [$queue getStat pkts 10] [$queue getStat pkts 12] [$queue getStat pkts 14]]
}

# The generator that the policer draws from begins anew before each arrival, and so does its twin: this is how the draw is known.
set twin [new RNG]
proc arrive {tick length seed} {
    global defaultRNG twin sender
    set before [counts]
    $defaultRNG seed $seed
    $twin seed $seed
    set draw [$twin uniform 0 1]
    $sender send $length
    foreach code {10 12 14} old $before new [counts] {
        if {$new > $old} { puts "$tick,$length,[format %.17g $draw],$code" }
    }
}

while {[gets stdin line] >= 0} {
    set last [lindex $line 0]
    $ns at [expr {$last / 512.0}] "arrive $line"
}
$ns at [expr {$last / 512.0 + 1000}] "exit 0"
$ns run
