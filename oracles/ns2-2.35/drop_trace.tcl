# One TCP transfer with chosen packets dropped, traced at the sender.  For ns-2.35.
#
#   ns drop_trace.tcl VARIANT KEY=VALUE ... PACKET,K ...
#
# VARIANT   Tahoe, Reno, Newreno or Sack1
# KEY       all of: tick, minrto, stop (s); initial, packets (packets); wire (bytes); syn, limited, fractional, guard
#           (0 or 1); seed (of the phase of the clock; 0 for the one that ns-2 has by itself); delack (s, the longest
#           that an ACK waits; 0 for an ACK of every packet); limit (packets, of the bottleneck's queue, as ns-2 counts it)
# PACKET,K  the K-th arrival of that packet at the bottleneck is dropped
#
# Standard output: a line with the phase of the sender's clock, then the queue traces of the three links that matter
# and the sender's variables, in the order in which they happen.

set variant [lindex $argv 0]
array set option {}
array set listed {}
foreach word [lrange $argv 1 end] {
    if {[string first = $word] >= 0} {
        set parts [split $word =]
        set option([lindex $parts 0]) [lindex $parts 1]
    } else {
        set listed($word) 1
    }
}
proc truth flag { expr {$flag ? "true" : "false"} }

# sender -(8 Mbit/s, 0.1 ms)- router -(0.8 Mbit/s, 100 ms)- receiver
set output [open /dev/stdout w]
set ns [new Simulator]
set sender [$ns node]
set router [$ns node]
set receiver [$ns node]
$ns duplex-link $sender $router 8Mb 0.1ms DropTail
$ns duplex-link $router $receiver 0.8Mb 100ms DropTail
foreach {from to} [list $sender $router $router $sender $router $receiver $receiver $router] {
    $ns queue-limit $from $to 100
}
$ns queue-limit $router $receiver $option(limit)

# The loss model loses everything while its rate is 1 and nothing while it is 0.
set losses [new ErrorModel]
$losses unit pkt
$losses set rate_ 0
$losses drop-target [new Agent/Null]
$ns lossmodel $losses $router $receiver

$ns trace-queue $sender $router $output
$ns trace-queue $router $sender $output
$ns trace-queue $router $receiver $output

# What reaches the bottleneck passes this trace object before the loss model, so the rate is set packet by packet.
Trace/Enque instproc handle line {
    global arrivals listed losses
    set packet [lindex $line 10]
    if {![info exists arrivals($packet)]} { set arrivals($packet) 0 }
    incr arrivals($packet)
    $losses set rate_ [info exists listed($packet,$arrivals($packet))]
}
[[$ns link $router $receiver] set enqT_] set callback_ 1

Agent/TCP set window_ 28
Agent/TCP set tcpTick_ $option(tick)
Agent/TCP set minrto_ $option(minrto)
Agent/TCP set windowInit_ $option(initial)
Agent/TCP set syn_ [truth $option(syn)]
Agent/TCP set delay_growth_ [truth $option(syn)]
Agent/TCP set singledup_ $option(limited)
Agent/TCP set precisionReduce_ [truth $option(fractional)]
Agent/TCP set bugFix_ [truth $option(guard)]
# Without a SYN ns-2 adds no header to packet 0: there the size stated is the size on the wire.
Agent/TCP set useHeaders_ [truth $option(syn)]
Agent/TCP set packetSize_ [expr {$option(syn) ? $option(wire) - 40 : $option(wire)}]

if {$variant == "Tahoe"} { set tcp [new Agent/TCP] } else { set tcp [new Agent/TCP/$variant] }
set kind TCPSink
if {$variant == "Sack1"} { append kind /Sack1 }
if {$option(delack) > 0} { append kind /DelAck }
set sink [new Agent/$kind]
if {$option(delack) > 0} {
    $sink set interval_ $option(delack)
    # ns-2 takes packet 0 for a SYN; where it is none its ACK may wait.
    $sink set SYN_immediate_ack_ [truth $option(syn)]
}
$ns attach-agent $sender $tcp
$ns attach-agent $receiver $sink
$ns connect $tcp $sink
$tcp attach $output
foreach variable {cwnd_ ssthresh_ nrexmit_ rtt_ srtt_ rttvar_ backoff_} { $tcp trace $variable }

# A SYN adds a packet of its own: it is packet 0, and the data are packets 1 to `packets`.
$ns at 0.0 "$tcp advance $option(packets)"
$ns at $option(stop) "flush $output; exit 0"

# Making the sender and beginning the run draw the phase of its clock, as a part of the tick, one after the other; the
# second is kept.  A generator with the same seed draws the same numbers: this is how the phase is known here.
set twin [new RNG]
if {$option(seed)} {
    $defaultRNG seed $option(seed)
    $twin seed $option(seed)
} else {
    # what ns-2 begins with, one number of which is used already
    $twin seed 1
    $twin uniform 0 1
}
puts $output [format "phase %.12f" [expr {$option(tick) * [$twin uniform 0 1]}]]
$ns run
