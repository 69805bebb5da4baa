# Four transfers with different round-trip times and a call, through RED at 1.5 Mbit/s.  `perhop import ns2` reads it.
set ns [new Simulator]
set f [open out.nam w]
$ns namtrace-all $f

Queue/RED set thresh_ 5
Queue/RED set maxthresh_ 15
Queue/RED set q_weight_ 0.002
Queue/RED set mean_pktsize_ 1000
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Agent/TCP set window_ 40

set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 1.5Mb 20ms RED
$ns queue-limit $left $right 60

for {set i 0} {$i < 4} {incr i} {
    set s($i) [$ns node]
    set d($i) [$ns node]
    $ns duplex-link $s($i) $left 10Mb [expr {2 + 5 * $i}]ms DropTail
    $ns duplex-link $right $d($i) 10Mb 2ms DropTail
    set tcp($i) [new Agent/TCP/Newreno]
    set sink($i) [new Agent/TCPSink]
    $ns attach-agent $s($i) $tcp($i)
    $ns attach-agent $d($i) $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [expr {0.1 * $i}] "$ftp($i) start"
}

set voice [new Agent/UDP]
set heard [new Agent/Null]
$ns attach-agent $s(0) $voice
$ns attach-agent $d(0) $heard
$ns connect $voice $heard
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 200
$cbr set rate_ 64Kb
$cbr attach-agent $voice
$ns at 1.0 "$cbr start"

proc finish {} {
    global ns f
    $ns flush-trace
    close $f
    exec nam out.nam &
    exit 0
}
$ns at 60.0 "finish"
$ns run
