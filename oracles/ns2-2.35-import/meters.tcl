# A meter for each source or one for two, three precedences, a TCP among UDP flows, ACKs through an edge.  For ns-2.35.
ns-random 1
set ns [new Simulator]
Agent/TCP set window_ 40
set e1 [$ns node]
set c [$ns node]
set e2 [$ns node]
proc differentiated {from to rate kind} {
    global ns
    $ns simplex-link $from $to $rate 5ms dsRED/$kind
    set queue [[$ns link $from $to] queue]
    $queue meanPktSize 1000
    $queue set numQueues_ 1
    $queue setNumPrec 3
    foreach {code precedence} {10 0 12 1 14 2} { $queue addPHBEntry $code 0 $precedence }
    $queue configQ 0 0 20 40 0.02
    $queue configQ 0 1 10 20 0.1
    $queue configQ 0 2 5 10 0.2
    $queue setMREDMode RIO-C
    return $queue
}
set q1 [differentiated $e1 $c 10Mb edge]
set core [differentiated $c $e2 2Mb core]
set q2 [differentiated $e2 $c 10Mb edge]
$ns simplex-link $c $e1 10Mb 5ms DropTail
foreach i {0 1 2} {
    set s($i) [$ns node]
    set d($i) [$ns node]
    $ns duplex-link $s($i) $e1 10Mb 1ms DropTail
    $ns duplex-link $e2 $d($i) 10Mb 1ms DropTail
}
$q1 addPolicyEntry [$s(0) id] [$d(0) id] srTCM 10 800000 8000 16000
$q1 addPolicyEntry -1 -1 trTCM 10 400000 10000 800000 20000
$q1 addPolicerEntry srTCM 10 12 14
$q1 addPolicerEntry trTCM 10 12 14
$q2 addPolicyEntry -1 -1 Dumb 10
$q2 addPolicerEntry Dumb 10

set tcp [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1/DelAck]
$ns attach-agent $s(0) $tcp
$ns attach-agent $d(0) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.5 "$ftp start"

set udp(1) [new Agent/UDP]
set udp(2) [new Agent/UDP]
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1000
$cbr set rate_ 600Kb
set voice [new Application/Traffic/Exponential]
$voice set packetSize_ 500
$voice set rate_ 1Mb
$voice set burst_time_ 500ms
$voice set idle_time_ 500ms
$cbr attach-agent $udp(1)
$voice attach-agent $udp(2)
foreach i {1 2} {
    set null($i) [new Agent/LossMonitor]
    $ns attach-agent $s($i) $udp($i)
    $ns attach-agent $d($i) $null($i)
    $ns connect $udp($i) $null($i)
}
$ns at [$defaultRNG uniform 0 0.5] "$cbr start"
$ns at [$defaultRNG uniform 0 0.5] "$voice start"
$ns at 60 "$cbr stop"
proc finish {} {
    global core tcp null
    puts "flow tcp [expr {1000 * [$tcp set ack_]}] [$tcp set nrexmit_]"
    foreach i {1 2} { puts "flow udp$i [$null($i) set bytes_] 0" }
    set drops 0
    foreach code {10 12 14} { set drops [expr {$drops + [$core getStat drops $code] + [$core getStat edrops $code]}] }
    puts "drops $drops"
    exit 0
}
$ns at 60 "finish"
$ns run
