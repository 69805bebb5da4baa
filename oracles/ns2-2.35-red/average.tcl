# The average queue of a RED link after each of the listed arrivals.  For ns-2.35.
#
#   ns average.tcl WEIGHT < times
#
# Standard input: times of arrivals, in ticks of 1/1024 s, in order. Standard output: ticks and average, a line for each.
# The link sends a packet of 1024 bytes in 8 ticks. The thresholds are out of reach: nothing is dropped.

Queue/RED set thresh_ 100000
Queue/RED set maxthresh_ 200000
Queue/RED set q_weight_ [lindex $argv 0]
Queue/RED set mean_pktsize_ 1024
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set adaptive_ 0

set ns [new Simulator]
set from [$ns node]
set to [$ns node]
$ns simplex-link $from $to 1048576 1ms RED
$ns queue-limit $from $to 1000
set red [[$ns link $from $to] queue]

set sender [new Agent/UDP]
$sender set packetSize_ 4096
$ns attach-agent $from $sender
set receiver [new Agent/Null]
$ns attach-agent $to $receiver
$ns connect $sender $receiver

proc arrive tick {
    global sender red
    $sender send 1024
    puts "$tick,[$red set ave_]"
}

puts "tick,average"
while {[gets stdin tick] >= 0} {
    $ns at [expr {$tick / 1024.0}] "arrive $tick"
    set last $tick
}
$ns at [expr {$last / 1024.0 + 1000}] "exit 0"
$ns run
