# Two queues of one dsRED link by weights, and two by priority; the sources mark.  For ns-2.35.
ns-random 1
set ns [new Simulator]
foreach {name scheduler} {wrr WRR pri PRI} {
    set a [$ns node]
    set b [$ns node]
    $ns simplex-link $a $b 1Mb 10ms dsRED/core
    $ns simplex-link $b $a 1Mb 10ms DropTail
    $ns queue-limit $a $b 30
    set queue($name) [[$ns link $a $b] queue]
    $queue($name) meanPktSize 500
    $queue($name) set numQueues_ 2
    $queue($name) setNumPrec 1
    $queue($name) setSchedularMode $scheduler
    if {$scheduler eq "WRR"} { $queue($name) addQueueWeights 0 3; $queue($name) addQueueWeights 1 1 }
    $queue($name) addPHBEntry 46 0 0
    $queue($name) addPHBEntry 0 1 0
    $queue($name) setMREDMode DROP 0
    $queue($name) configQ 0 0 20 20 1.0
    $queue($name) setMREDMode RIO-C 1
    $queue($name) configQ 1 0 5 15 0.1
    foreach {code rate} {46 0.7Mb 0 0.6Mb} {
        set from [$ns node]
        set to [$ns node]
        $ns duplex-link $from $a 10Mb 1ms DropTail
        $ns duplex-link $b $to 10Mb 1ms DropTail
        set udp$name$code [new Agent/UDP]
        set udp [set udp$name$code]
        $udp set prio_ $code
        set null($name,$code) [new Agent/LossMonitor]
        $ns attach-agent $from $udp
        $ns attach-agent $to $null($name,$code)
        $ns connect $udp $null($name,$code)
        set source [new Application/Traffic/Exponential]
        $source set packetSize_ 500
        $source set rate_ $rate
        $source set burst_time_ 2000ms
        $source set idle_time_ 100ms
        $source attach-agent $udp
        $ns at [$defaultRNG uniform 0 0.5] "$source start"
    }
}
proc finish {} {
    global queue null
    foreach name {wrr pri} { foreach code {46 0} { puts "flow udp$name$code [$null($name,$code) set bytes_] 0" } }
    set drops 0
    foreach name {wrr pri} { foreach code {46 0} {
        set drops [expr {$drops + [$queue($name) getStat drops $code] + [$queue($name) getStat edrops $code]}]
    } }
    puts "drops $drops"
    exit 0
}
$ns at 200 "finish"
$ns run
