/* delay IF_A IF_B A_TO_B_US B_TO_A_US
 *
 * A long wire between two interfaces: every frame leaves a fixed time after the kernel saw it arrive (SO_TIMESTAMPNS). On SIGTERM it prints,
 * as JSON, how many frames it carried and how late they left, in microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

enum { RING = 8192, LONGEST = 2048, BINS = 200001, PRIORITY = 60 };

struct frame {
    uint64_t due;
    ssize_t length;
    unsigned char bytes[LONGEST];
};

struct direction {
    int in, out;
    uint64_t delay, frames;
    unsigned head, tail;
    struct frame ring[RING];
};

static struct direction directions[2];
static uint64_t late[BINS];
static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static uint64_t nanoseconds(struct timespec time) { return time.tv_sec * 1000000000ull + time.tv_nsec; }

/* of the clock that stamps frames */
static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return nanoseconds(time);
}

static int opened(const char *interface) {
    int one = 1, room = 1 << 26, fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(interface)};
    if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) ||
        setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one) ||
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one) ||
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) ||
        bind(fd, (struct sockaddr *)&address, sizeof address)) {
        perror(interface);
        exit(1);
    }
    return fd;
}

static void take(struct direction *way) {
    while (way->tail - way->head < RING) {
        struct frame *frame = &way->ring[way->tail % RING];
        char control[256];
        struct iovec part = {frame->bytes, LONGEST};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        frame->length = recvmsg(way->in, &message, MSG_DONTWAIT);
        if (frame->length < 0) return;
        uint64_t arrived = now();
        for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one))
            if (one->cmsg_level == SOL_SOCKET && one->cmsg_type == SO_TIMESTAMPNS)
                arrived = nanoseconds(*(struct timespec *)CMSG_DATA(one));
        frame->due = arrived + way->delay;
        way->tail++;
        way->frames++;
    }
}

static void give(struct direction *way) {
    for (; way->head != way->tail; way->head++) {
        struct frame *frame = &way->ring[way->head % RING];
        uint64_t time = now();
        if (frame->due > time) return;
        uint64_t us = (time - frame->due) / 1000;
        late[us < BINS ? us : BINS - 1]++;
        while (send(way->out, frame->bytes, frame->length, 0) < 0 && (errno == ENOBUFS || errno == EAGAIN)) continue;
    }
}

/* until the next frame is due, 1 s at most */
static struct timespec rest(void) {
    uint64_t time = now(), until = time + 1000000000;
    for (int i = 0; i < 2; i++) {
        struct direction *way = &directions[i];
        if (way->head != way->tail && way->ring[way->head % RING].due < until) until = way->ring[way->head % RING].due;
    }
    uint64_t wait = until > time ? until - time : 0;
    return (struct timespec){wait / 1000000000, wait % 1000000000};
}

static unsigned quantile(double part) {
    uint64_t all = 0, seen = 0;
    for (int i = 0; i < BINS; i++) all += late[i];
    for (unsigned i = 0; i < BINS; i++)
        if ((seen += late[i]) >= part * all) return i;
    return BINS - 1;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    int a = opened(words[1]), b = opened(words[2]);
    directions[0] = (struct direction){.in = a, .out = b, .delay = strtoull(words[3], 0, 10) * 1000};
    directions[1] = (struct direction){.in = b, .out = a, .delay = strtoull(words[4], 0, 10) * 1000};
    struct sched_param priority = {.sched_priority = PRIORITY};
    if (mlockall(MCL_CURRENT) || sched_setscheduler(0, SCHED_FIFO, &priority)) perror("SCHED_FIFO");
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGTERM, &action, 0);
    struct pollfd inputs[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    while (!stopped) {
        for (int i = 0; i < 2; i++) take(&directions[i]);
        for (int i = 0; i < 2; i++) give(&directions[i]);
        struct timespec wait = rest();
        ppoll(inputs, 2, &wait, 0);
    }
    printf("{\"forward\": %llu, \"back\": %llu, \"late_p50_us\": %u, \"late_p99_us\": %u, \"late_p999_us\": %u, \"late_max_us\": %u}\n",
           (unsigned long long)directions[0].frames, (unsigned long long)directions[1].frames, quantile(.5), quantile(.99),
           quantile(.999), quantile(1));
}
