# TCP flows through a marking edge and a RIO queue, after Feroz, Kalyanaraman and Rao.  For ns-2.35.
#
#   ns feroz.tcl KEY=VALUE ...
#
# Every key, with its default, is in `option` below; the README says what they mean.
# Standard output:
#   flow I ACKED TIMEOUTS       packets, a number
#   color CODE ARRIVED LATE EARLY    packets at the bottleneck: all, dropped for want of room or by the average, by chance

array set option {
    seed 1  duration 100  jitter 0.5
    flows 10  per_edge 5  host 1.5Mb  edge 10Mb  core 1.5Mb  delay_ms 5  spread_ms 0.173
    tcp Reno  window 64  initial 1  syn 0  limited 0  tick 0.01  minrto 1.0  packet 1024
    marker bucket  cir 0  cbs 0
    averaging RIO-D  limit 250  in_min 150  in_max 200  in_p 0.005  out_min 1  out_max 20  out_p 0.2
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
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Heap
Queue set limit_ 5000

Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ $option(packet)
Agent/TCP set window_ $option(window)
Agent/TCP set windowInit_ $option(initial)
Agent/TCP set syn_ [truth $option(syn)]
Agent/TCP set delay_growth_ [truth $option(syn)]
Agent/TCP set singledup_ $option(limited)
Agent/TCP set tcpTick_ $option(tick)
Agent/TCP set minrto_ $option(minrto)

# s(i) - e(i / per_edge) - r2 - r3 - d(i)
set r2 [$ns node]
set r3 [$ns node]
$ns simplex-link $r2 $r3 $option(core) $option(delay_ms)ms dsRED/core
$ns simplex-link $r3 $r2 $option(core) $option(delay_ms)ms DropTail

# In profile is 10, out of profile 11.
proc two_codes queue {
    global option
    $queue meanPktSize $option(packet)
    $queue set numQueues_ 1
    $queue setNumPrec 2
    $queue addPHBEntry 10 0 0
    $queue addPHBEntry 11 0 1
}
set core [[$ns link $r2 $r3] queue]
two_codes $core
$core setMREDMode $option(averaging) 0
$core configQ 0 0 $option(in_min) $option(in_max) $option(in_p)
$core configQ 0 1 $option(out_min) $option(out_max) $option(out_p)
$ns queue-limit $r2 $r3 $option(limit)

for {set k 0} {$k * $option(per_edge) < $option(flows)} {incr k} {
    set e($k) [$ns node]
    $ns simplex-link $e($k) $r2 $option(edge) $option(delay_ms)ms dsRED/edge
    $ns simplex-link $r2 $e($k) $option(edge) $option(delay_ms)ms DropTail
    $ns queue-limit $e($k) $r2 5000
    set queue [[$ns link $e($k) $r2] queue]
    two_codes $queue
    $queue setMREDMode DROP 0
    $queue configQ 0 0 4000 4000 1.0
    $queue configQ 0 1 4000 4000 1.0
    if {$option(marker) == "bucket"} {
        $queue addPolicyEntry -1 -1 TokenBucket 10 $option(cir) $option(cbs)
        $queue addPolicerEntry TokenBucket 10 11
    } else {
        set code [expr {$option(marker) == "in" ? 10 : 11}]
        $queue addPolicyEntry -1 -1 Dumb $code
        $queue addPolicerEntry Dumb $code
    }
}
for {set i 0} {$i < $option(flows)} {incr i} {
    set s($i) [$ns node]
    set d($i) [$ns node]
    set delay [expr {$option(delay_ms) + $i * $option(spread_ms)}]
    $ns duplex-link $s($i) $e([expr {$i / $option(per_edge)}]) $option(host) ${delay}ms DropTail
    $ns duplex-link $r3 $d($i) $option(host) $option(delay_ms)ms DropTail
    set sender($i) [new Agent/TCP/$option(tcp)]
    set receiver [new Agent/[expr {$option(tcp) == "Sack1" ? "TCPSink/Sack1" : "TCPSink"}]]
    $ns attach-agent $s($i) $sender($i)
    $ns attach-agent $d($i) $receiver
    $ns connect $sender($i) $receiver
    set data [new Application/FTP]
    $data attach-agent $sender($i)
    $ns at [$starts uniform 0 $option(jitter)] "$data start"
}
$ns at $option(duration) {
    for {set i 0} {$i < $option(flows)} {incr i} {
        set acked [expr {[$sender($i) set ack_] + 1 - $option(syn)}]
        puts "flow $i $acked [$sender($i) set nrexmit_]"
    }
    foreach code {10 11} {
        puts "color $code [$core getStat pkts $code] [$core getStat drops $code] [$core getStat edrops $code]"
    }
    exit 0
}
$ns run
