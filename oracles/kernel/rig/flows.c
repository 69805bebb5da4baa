/* flows receive PORT
 * flows send ADDRESS PORT COUNT CONTROL START_S WARMUP_S DURATION_S JITTER_S SEED
 * flows burst ADDRESS PORT COUNT OCTETS
 *
 * TCP flows without end, and what receives them. The sender prints, as JSON, what TCP_INFO said of each flow at START_S, at WARMUP_S and at
 * the end, with the mean of the smoothed round-trip time in between; each flow opens at a moment drawn evenly from JITTER_S by SEED. A burst
 * is COUNT datagrams of so many OCTETS of IP, one after the other: what a queue takes, without TCP.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, CHUNK = 1 << 16 };
static const double SAMPLE_S = 0.1;

/* what Linux 6.7 and later append: not in every distribution's headers */
struct info {
    struct tcp_info known;
    uint32_t received_window, rehash;
    uint16_t timeouts, recoveries;
    uint32_t timeout_ms;
};

struct flow {
    int fd;
    double opens, srtt_us;
    unsigned samples;
    struct info at[3];
};

static struct flow flows[MOST];
static char buffer[1 << 18];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void receive(int port) {
    struct pollfd open[MOST + 1] = {{socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), POLLIN, 0}};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (bind(open[0].fd, (struct sockaddr *)&address, sizeof address) || listen(open[0].fd, MOST)) fail("listen");
    for (int count = 1; poll(open, count, -1) > 0;) {
        for (int i = 1; i < count; i++)
            while (open[i].revents && read(open[i].fd, buffer, sizeof buffer) > 0) continue;
        if (open[0].revents && count <= MOST) {
            int fd = accept4(open[0].fd, 0, 0, SOCK_NONBLOCK);
            if (fd >= 0) open[count++] = (struct pollfd){fd, POLLIN, 0};
        }
    }
}

static struct info told(int fd) {
    struct info info = {0};
    socklen_t length = sizeof info;
    if (fd >= 0) getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
    return info;
}

static void open_flow(struct flow *flow, const struct sockaddr_in *to, const char *control) {
    flow->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (setsockopt(flow->fd, IPPROTO_TCP, TCP_CONGESTION, control, strlen(control))) fail(control);
    if (connect(flow->fd, (const struct sockaddr *)to, sizeof *to) && errno != EINPROGRESS) fail("connect");
}

static void print(int count) {
    static const char *const names[] = {"start", "warmup", "end"};
    printf("[");
    for (int i = 0; i < count; i++) {
        struct flow *flow = &flows[i];
        printf("%s{\"srtt_s\": %.6f", i ? ", " : "", flow->samples ? flow->srtt_us / flow->samples * 1e-6 : 0);
        for (int k = 0; k < 3; k++) {
            struct info *info = &flow->at[k];
            printf(", \"%s\": {\"acked\": %llu, \"segments\": %u, \"retransmissions\": %u, \"timeouts\": %u, \"ssthresh\": %u}", names[k],
                   (unsigned long long)info->known.tcpi_bytes_acked, info->known.tcpi_data_segs_out,
                   info->known.tcpi_total_retrans, info->timeouts, info->known.tcpi_snd_ssthresh);
        }
        printf("}");
    }
    printf("]\n");
}

/* sleeps until `until`, or until a flow takes data */
static void rest(int count, double until) {
    struct pollfd open[MOST];
    int waiting = 0;
    for (int i = 0; i < count; i++)
        if (flows[i].fd >= 0) open[waiting++] = (struct pollfd){flows[i].fd, POLLOUT, 0};
    double wait = until - now();
    if (wait < 0) wait = 0;
    struct timespec time = {(time_t)wait, (long)((wait - (time_t)wait) * 1e9)};
    ppoll(open, waiting, &time, 0);
}

static void send_all(int count, const struct sockaddr_in *to, const char *control, const double at[3]) {
    double begun = now(), sample = SAMPLE_S;
    for (int k = 0; k < 3;) {
        double time = now() - begun, next = at[k] < sample ? at[k] : sample;
        for (int i = 0; i < count; i++) {
            struct flow *flow = &flows[i];
            if (flow->fd < 0 && time >= flow->opens) open_flow(flow, to, control);
            if (flow->fd < 0 && flow->opens < next) next = flow->opens;
            while (flow->fd >= 0 && write(flow->fd, buffer, CHUNK) > 0) continue;
        }
        if (time >= at[k]) {
            for (int i = 0; i < count; i++) flows[i].at[k] = told(flows[i].fd);
            k++;
        }
        if (time >= sample) {
            for (int i = 0; i < count && time >= at[1]; i++) {
                flows[i].srtt_us += told(flows[i].fd).known.tcpi_rtt;
                flows[i].samples++;
            }
            sample += SAMPLE_S;
        }
        rest(count, begun + next);
    }
}

/* ends when the last has had time to pass */
static void burst(const struct sockaddr_in *to, int count, int octets) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0), headers = 28, room = 1 << 24;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    for (int i = 0; i < count; i++)
        if (sendto(fd, buffer, octets - headers, 0, (const struct sockaddr *)to, sizeof *to) < 0) fail("sendto");
    sleep(1);
    printf("[]\n");
}

int main(int words, char **word) {
    if (words == 3 && !strcmp(word[1], "receive")) {
        receive(atoi(word[2]));
        return 1;
    }
    if (words < 6) return 2;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(word[3]))};
    int count = atoi(word[4]);
    if (inet_pton(AF_INET, word[2], &to.sin_addr) != 1) return 2;
    if (words == 6 && !strcmp(word[1], "burst")) {
        burst(&to, count, atoi(word[5]));
        return 0;
    }
    if (words != 11 || strcmp(word[1], "send") || count < 1 || count > MOST) return 2;
    srand48(atol(word[10]));
    for (int i = 0; i < count; i++) flows[i] = (struct flow){.fd = -1, .opens = drand48() * atof(word[9])};
    double at[3] = {atof(word[6]), atof(word[7]), atof(word[8])};
    send_all(count, &to, word[5], at);
    print(count);
}
