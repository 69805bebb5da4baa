// The case dumbbell-100 in htsim: 100 TCP flows through one RED queue, s[i] - r1 - r2 - d[i].
//
// Usage: dumbbell SECONDS [SEED]; prints packet-hops, drops, bytes over the
// bottleneck and the user time of the event loop, s. Rates, delays, sizes and the queue are those of bench/cases/dumbbell-100.toml.
// Built by rounds.py against htsim's own objects; it needs nothing of perhop.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

const int FLOWS = 100;
const int PACKET = 1024;
const linkspeed_bps ACCESS = 15000000, BOTTLENECK = 150000000;
const simtime_picosec DELAY = 5566700000;   // 5.5667 ms
const double MIN_TH = 50, MAX_TH = 150, MAX_P = 0.1, W_Q = 0.002;

uint64_t hops = 0, drops = 0;

// A pipe that counts what enters it: packets that have left a link's queue.
class Counted : public Pipe {
public:
    Counted(EventList& events) : Pipe(DELAY, events) {}
    void receivePacket(Packet& pkt) override {
        hops += 1;
        Pipe::receivePacket(pkt);
    }
};

// RED as Floyd and Jacobson 1993 have it, in packets of 1024 bytes, not gentle: one draw for each drop by chance.
class Red : public Queue {
public:
    Red(EventList& events) : Queue(BOTTLENECK, mem_b(1) << 40, events, NULL) {}

    void receivePacket(Packet& pkt) override {
        double length = double(_queuesize) / PACKET;
        if (_enqueued.empty()) {
            double idle = timeAsSec(eventlist().now() - _idle_since) * BOTTLENECK / (8 * PACKET);
            _average *= std::pow(1 - W_Q, idle);
        } else {
            _average += W_Q * (length - _average);
        }
        if (drops_it()) {
            drops += 1;
            _count = 0;
            pkt.free();
            return;
        }
        Queue::receivePacket(pkt);
    }

    uint64_t bytes = 0;

protected:
    void completeService() override {
        bytes += uint64_t(_enqueued.back()->size());
        Queue::completeService();
        if (_enqueued.empty()) {
            _idle_since = eventlist().now();
        }
    }

private:
    bool drops_it() {
        if (_average < MIN_TH) {
            _count = -1;
            return false;
        }
        if (_average >= MAX_TH) {
            return true;
        }
        _count += 1;
        double p = MAX_P * (_average - MIN_TH) / (MAX_TH - MIN_TH);
        double rest = 1 - _count * p;
        return rest <= 0 || drand48() < p / rest;
    }

    double _average = 0;
    int _count = -1;
    simtime_picosec _idle_since = 0;
};

double user_s() {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return double(usage.ru_utime.tv_sec) + double(usage.ru_utime.tv_usec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    if (seconds <= 0) {
        fprintf(stderr, "usage: dumbbell SECONDS [SEED]\n");
        return 2;
    }
    long seed = argc > 2 ? atol(argv[2]) : 1;
    srand(unsigned(seed));
    srand48(seed);
    std::cout.setstate(std::ios_base::failbit);   // htsim reports each flow
    Packet::set_packet_size(PACKET);
    EventList& events = EventList::getTheEventList();
    EventList::setEndtime(timeFromSec(seconds));

    Red* bottleneck = new Red(events);
    Pipe* across = new Counted(events);
    Queue* back = new Queue(BOTTLENECK, mem_b(1) << 40, events, NULL);
    Pipe* back_across = new Counted(events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    for (int i = 0; i < FLOWS; i++) {
        TcpSrc* source = new TcpSrc(NULL, NULL, events);
        TcpSink* sink = new TcpSink();
        source->set_ssthresh(0xffffffff);
        timers.registerTcp(*source);
        auto access = [&]() { return new Queue(ACCESS, mem_b(1) << 40, events, NULL); };
        route_t* out = new route_t();
        for (PacketSink* hop : std::initializer_list<PacketSink*>{
                 access(), new Counted(events), bottleneck, across, access(), new Counted(events), sink}) {
            out->push_back(hop);
        }
        route_t* in = new route_t();
        for (PacketSink* hop : std::initializer_list<PacketSink*>{
                 access(), new Counted(events), back, back_across, access(), new Counted(events), source}) {
            in->push_back(hop);
        }
        source->connect(*out, *in, *sink, timeFromSec(drand48()));
    }
    double before = user_s();
    while (events.doNextEvent()) {
    }
    double used = user_s() - before;
    printf("{\"packet_hops\": %lu, \"drops\": %lu, \"bytes\": %lu, \"user_cpu_s\": %.6f}\n", (unsigned long)hops,
           (unsigned long)drops, (unsigned long)bottleneck->bytes, used);
    return 0;
}
