# Two greedy flows through a RED queue, as `perhop import ns2` reads them.  For ns-2.35.
ns-random 1
set ns [new Simulator]
set trace [open /dev/null w]
$ns trace-all $trace

Agent/TCP set window_ 64
Agent/TCP set windowInit_ 1
Agent/TCP set syn_ false
Agent/TCP set minrto_ 1
Agent/TCP set singledup_ 0
Agent/TCP set useHeaders_ false
Queue/RED set thresh_ 5
Queue/RED set maxthresh_ 15
Queue/RED set q_weight_ 0.002
Queue/RED set mean_pktsize_ 1000
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set gentle_ false

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right 1.5Mb 20ms RED
$ns simplex-link $right $left 1.5Mb 20ms DropTail
$ns queue-limit $left $right 60
$ns queue-limit $right $left 1000
for {set i 0} {$i < 2} {incr i} {
    set from($i) [$ns node]
    set to($i) [$ns node]
    $ns duplex-link $from($i) $left 10Mb [expr {2 + $i}]ms DropTail
    $ns duplex-link $right $to($i) 10Mb [expr {4 + $i}]ms DropTail
    $ns queue-limit $from($i) $left 1000
    set tcp($i) [new Agent/TCP/Newreno]
    set sink($i) [new Agent/TCPSink]
    $ns attach-agent $from($i) $tcp($i)
    $ns attach-agent $to($i) $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [$defaultRNG uniform 0 1] "$ftp($i) start"
}
set queue [$ns monitor-queue $left $right ""]
proc finish {} {
    global queue tcp
    foreach i {0 1} { puts "flow tcp$i [expr {1000 * ([$tcp($i) set ack_] + 1)}] [$tcp($i) set nrexmit_]" }
    puts "drops [$queue set pdrops_]"
    exit 0
}
$ns at 120 "finish"
$ns run
