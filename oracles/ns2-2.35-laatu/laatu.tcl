# One run of the marking study of Laatu, Harju and Loula.  For ns-2.35.
#
#   ns laatu.tcl KEY=VALUE ...
#
# Every key, with its default, is in `option` below; the README says what they mean.
# Standard output, all of it measured from `warmup` to `duration`:
#   flow I GREEN EXCESS GOODPUT TIMEOUTS          kbit/s on the wire, kbit/s of new data, a number
#   color CODE ARRIVED LATE EARLY                 packets at the AF queue: all, dropped for want of room or by the average
#   queue MEAN                                    packets, sampled every 50 ms

array set option {
    marking flow  averaging WRED  rtt_ms 300  background_rtt_ms 20  seed 1  duration 120  warmup 10
    tcp Reno  ack delayed  delack 0.04  window 43  background_window 43  initial 2  tick 0.01  minrto 0.2  stamps 1
    packet 1500  cbs 15  pbs 18  af 2Mb  limit 120  background tcp  background_kbit 1300
}
foreach word $argv {
    set parts [split $word =]
    if {![info exists option([lindex $parts 0])]} { error "no key [lindex $parts 0]" }
    set option([lindex $parts 0]) [lindex $parts 1]
}
proc truth flag { expr {$flag ? "true" : "false"} }

ns-random $option(seed)
set starts [new RNG]
$starts seed [expr {$option(seed) * 7919 + 13}]
# RTP: UDP writes that header too, and without it would write over others.
remove-all-packet-headers
add-packet-header IP TCP Flags RTP
set ns [new Simulator]
$ns use-scheduler Heap
Queue set limit_ 5000

Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ $option(packet)
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set windowInit_ $option(initial)
Agent/TCP set singledup_ 0
Agent/TCP set tcpTick_ $option(tick)
Agent/TCP set minrto_ $option(minrto)
Agent/TCP set timestamps_ [truth $option(stamps)]
Agent/TCPSink/DelAck set interval_ $option(delack)

# s(i) - e1 - c1 - c2 - e3 - d(i), and b(i) - e2 - c1, e3 - a(i)
foreach name {e1 e2 e3 c1 c2} { set $name [$ns node] }
for {set i 0} {$i < 4} {incr i} { set s($i) [$ns node]; set d($i) [$ns node] }
for {set i 0} {$i < 7} {incr i} { set b($i) [$ns node]; set a($i) [$ns node] }
for {set i 0} {$i < 4} {incr i} { $ns duplex-link $s($i) $e1 10Mb [expr {$option(rtt_ms) / 2.0}]ms DropTail }
for {set i 0} {$i < 7} {incr i} {
    $ns duplex-link $b($i) $e2 10Mb [expr {$option(background_rtt_ms) / 2.0}]ms DropTail
    $ns duplex-link $e3 $a($i) 10Mb 0ms DropTail
}
proc differentiated {from to rate kind} {
    global ns option
    $ns simplex-link $from $to $rate 0ms dsRED/$kind
    $ns simplex-link $to $from 10Mb 0ms DropTail
    set queue [[$ns link $from $to] queue]
    $queue meanPktSize $option(packet)
    $queue set numQueues_ 1
    $queue setNumPrec 3
    foreach {code precedence} {10 0 20 1 30 2} { $queue addPHBEntry $code 0 $precedence }
    return $queue
}
# A queue that only counts code points.
proc counting {from to kind} {
    global ns
    set queue [differentiated $from $to 10Mb $kind]
    $queue setMREDMode DROP 0
    foreach precedence {0 1 2} { $queue configQ 0 $precedence 4000 4000 1.0 }
    $ns queue-limit $from $to 5000
    return $queue
}
set customer [counting $e1 $c1 edge]
set others [counting $e2 $c1 edge]
set af [differentiated $c1 $c2 $option(af) core]
$af setMREDMode $option(averaging) 0
$ns queue-limit $c1 $c2 $option(limit)
proc packets kbyte { global option; expr {int($kbyte * 1000.0 / $option(packet) + 0.5)} }
$af configQ 0 0 [packets 45] [packets 90] 0.02
$af configQ 0 1 [packets 22.5] [packets 45] 0.05
$af configQ 0 2 [packets 10.5] [packets 22.5] 0.10
$ns duplex-link $c2 $e3 10Mb 0ms DropTail
for {set i 0} {$i < 4} {incr i} { set counter($i) [counting $e3 $d($i) core] }

set cbs [expr {int($option(cbs) * $option(packet))}]
set pbs [expr {int($option(pbs) * $option(packet))}]
if {$option(marking) == "flow"} {
    for {set i 0} {$i < 4} {incr i} { $customer addPolicyEntry [$s($i) id] -1 trTCM 10 200000 $cbs 350000 $pbs }
} else {
    $customer addPolicyEntry -1 -1 trTCM 10 800000 $cbs 1400000 $pbs
}
$customer addPolicerEntry trTCM 10 20 30
$others addPolicyEntry -1 -1 trTCM 10 800000 [expr {15 * $option(packet)}] 1400000 [expr {18 * $option(packet)}]
$others addPolicerEntry trTCM 10 20 30

proc transfer {from to start window} {
    global ns option
    set sender [new Agent/TCP/$option(tcp)]
    set kind TCPSink
    if {$option(tcp) == "Sack1"} { append kind /Sack1 }
    if {$option(ack) == "delayed"} { append kind /DelAck }
    set receiver [new Agent/$kind]
    $receiver set packetSize_ 52
    $sender set window_ $window
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    set data [new Application/FTP]
    $data attach-agent $sender
    $ns at $start "$data start"
    return $sender
}
# Distances between packets are drawn, or the seven would stay in step.
proc constant {from to start} {
    global ns option
    set sender [new Agent/UDP]
    set receiver [new Agent/Null]
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    $sender set packetSize_ $option(packet)
    set data [new Application/Traffic/CBR]
    $data set packetSize_ $option(packet)
    $data set rate_ [expr {$option(background_kbit) * 1000.0 / 7}]
    $data set random_ 1
    $data attach-agent $sender
    $ns at $start "$data start"
}
for {set i 0} {$i < 4} {incr i} {
    set measured($i) [transfer $s($i) $d($i) [expr {$option(warmup) + [$starts uniform 0 0.01]}] $option(window)]
}
for {set i 0} {$i < 7} {incr i} {
    set start [$starts uniform 0 1]
    if {$option(background) == "tcp"} {
        transfer $b($i) $a($i) $start $option(background_window)
    } else {
        constant $b($i) $a($i) $start
    }
}

proc count {} {
    global now counter measured af
    for {set i 0} {$i < 4} {incr i} {
        foreach code {10 20 30} { set now($i,$code) [$counter($i) getStat pkts $code] }
        set now($i,acked) [$measured($i) set ack_]
        set now($i,timeouts) [$measured($i) set nrexmit_]
    }
    foreach code {10 20 30} {
        foreach what {pkts drops edrops} { set now($what,$code) [$af getStat $what $code] }
    }
}
proc since key { global now then; expr {$now($key) - $then($key)} }
set sampled 0.0
set samples 0
proc sample {} {
    global ns af sampled samples
    set sampled [expr {$sampled + [$af getCurrent 0]}]
    incr samples
    $ns at [expr {[$ns now] + 0.05}] sample
}
$ns at $option(warmup) { count; array set then [array get now]; sample }
$ns at $option(duration) {
    count
    set time [expr {$option(duration) - $option(warmup)}]
    set wire [expr {$option(packet) * 8 / 1000.0 / $time}]
    set new [expr {($option(packet) - 52) * 8 / 1000.0 / $time}]
    for {set i 0} {$i < 4} {incr i} {
        set green [expr {[since $i,10] * $wire}]
        set excess [expr {([since $i,20] + [since $i,30]) * $wire}]
        puts "flow $i $green $excess [expr {[since $i,acked] * $new}] [since $i,timeouts]"
    }
    foreach code {10 20 30} { puts "color $code [since pkts,$code] [since drops,$code] [since edrops,$code]" }
    puts "queue [expr {$sampled / $samples}]"
    exit 0
}
$ns run
