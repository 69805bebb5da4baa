# Ten flows, an edge that marks by TSW2CM and one by TSW3CM, RIO of three precedences at the bottleneck.  For ns-2.35.
ns-random 1
set ns [new Simulator]
Queue set limit_ 5000
Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1024
Agent/TCP set window_ 64
Agent/TCP set windowInit_ 1
Agent/TCP set syn_ false
Agent/TCP set singledup_ 0
Agent/TCP set minrto_ 1.0

set r2 [$ns node]
set r3 [$ns node]
$ns simplex-link $r2 $r3 1.5Mb 5ms dsRED/core
$ns simplex-link $r3 $r2 1.5Mb 5ms DropTail
$ns queue-limit $r2 $r3 250
set core [[$ns link $r2 $r3] queue]
$core meanPktSize 1024
$core set numQueues_ 1
$core setNumPrec 3
$core addPHBEntry 10 0 0
$core addPHBEntry 11 0 1
$core addPHBEntry 12 0 2
$core setMREDMode RIO-D 0
$core configQ 0 0 150 200 0.005
$core configQ 0 1 20 60 0.05
$core configQ 0 2 1 20 0.2

foreach k {0 1} {
    set e($k) [$ns node]
    $ns simplex-link $e($k) $r2 10Mb 5ms dsRED/edge
    $ns simplex-link $r2 $e($k) 10Mb 5ms DropTail
    set edge [[$ns link $e($k) $r2] queue]
    $edge meanPktSize 1024
    $edge set numQueues_ 1
    $edge setNumPrec 3
    $edge setMREDMode DROP
    $edge addPHBEntry 10 0 0
    $edge addPHBEntry 11 0 1
    $edge addPHBEntry 12 0 2
    $edge configQ 0 0 5000 5000 1.0
    $edge configQ 0 1 5000 5000 1.0
    $edge configQ 0 2 5000 5000 1.0
    if {$k == 0} {
        $edge addPolicyEntry -1 -1 TSW2CM 10 500000 0.5
        $edge addPolicerEntry TSW2CM 10 12
    } else {
        $edge addPolicyEntry -1 -1 TSW3CM 10 300000 600000
        $edge addPolicerEntry TSW3CM 10 11 12
    }
}
for {set i 0} {$i < 10} {incr i} {
    set s($i) [$ns node]
    set d($i) [$ns node]
    $ns duplex-link $s($i) $e([expr {$i / 5}]) 1.5Mb [expr {5 + $i * 0.173}]ms DropTail
    $ns duplex-link $r3 $d($i) 1.5Mb 5ms DropTail
    set tcp($i) [new Agent/TCP/Reno]
    set sink($i) [new Agent/TCPSink]
    $ns attach-agent $s($i) $tcp($i)
    $ns attach-agent $d($i) $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [$defaultRNG uniform 0 0.5] "$ftp($i) start"
}
proc finish {} {
    global core tcp
    for {set i 0} {$i < 10} {incr i} {
        puts "flow tcp$i [expr {1024 * ([$tcp($i) set ack_] + 1)}] [$tcp($i) set nrexmit_]"
    }
    set drops 0
    foreach code {10 11 12} { set drops [expr {$drops + [$core getStat drops $code] + [$core getStat edrops $code]}] }
    puts "drops $drops"
    exit 0
}
$ns at 100 "finish"
$ns run
