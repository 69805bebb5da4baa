// SPDX-License-Identifier: Apache-2.0
// Marks pure ACKs at the host that sends them: with the mark of the data they answer, by a map of marks, or with one mark.
//
// Two programs for clsact, each for devices with an Ethernet header (`_eth`) and without one (`_raw`: TUN, WireGuard, PPP):
//   data_in  at ingress, remembers for each connection the mark of the data that came in since its last ACK;
//   ack_out  at egress, gives an ACK without payload, SYN, FIN or RST its mark. ECN bits stay.
// Neither drops, redirects or ends the chain of filters: both return TC_ACT_UNSPEC.
// Helpers: map_lookup_elem, map_update_elem, map_delete_elem, skb_load_bytes, skb_store_bytes, l3_csum_replace. The kernel
// offers each of them to programs of any licence (`gpl_only = false`).
// Source of the rules: docs/elements/ack-marking.md, the host's seat. Cost: one look-up for each packet with data or ACK.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

enum { FIN = 0x01, SYN = 0x02, RST = 0x04, ACK = 0x10 };
enum { TRIGGERING_SEGMENT, BEST_OF_COVERED, WORST_OF_COVERED };
enum { DATA, ACKS, CHANGED, NO_DATA_SEEN, FAILED, COUNTERS };

// One direction of a connection; an IPv4 address lies in the last word.
struct way {
	__u32 from[4], to[4];
	__u16 from_port, to_port;
};

struct covered {
	__u8 dscp;
	__u8 answered; // an ACK has gone out since
};

// Written by who installs it. `given[d]`: 0 keeps the mark d of the data, otherwise 64 + the mark of its ACK.
struct settings {
	__u8 rule;
	__u8 given[64];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct way);
	__type(value, struct covered);
} ways SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

// In the order of the enum: data packets in, pure ACKs out, those whose mark was changed, those before any data, errors.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct view {
	struct way way;
	__u32 payload;
	__u8 tos; // or the traffic class of IPv6
	__u8 flags;
	__u8 first; // first byte of the IP header
	__u8 second;
};

static __always_inline void count(__u32 which)
{
	__u64 *counter = bpf_map_lookup_elem(&counters, &which);
	if (counter)
		__sync_fetch_and_add(counter, 1);
}

static __always_inline struct settings *asked(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&settings, &zero);
}

// TCP behind an IP header of `header` bytes in a packet of `total` bytes.
static __always_inline int parse_tcp(struct __sk_buff *skb, __u32 at, __u32 header, __u32 total, struct view *view)
{
	struct tcphdr tcp;
	if (bpf_skb_load_bytes(skb, at + header, &tcp, sizeof tcp))
		return 0;
	__u32 headers = header + tcp.doff * 4;
	view->way.from_port = tcp.source;
	view->way.to_port = tcp.dest;
	view->flags = ((__u8 *)&tcp)[13];
	view->payload = total > headers ? total - headers : 0;
	return 1;
}

// The length comes from the IP header, since short frames are padded; 0 there is a packet beyond 64 KiB that was merged.
static __always_inline int parse(struct __sk_buff *skb, __u32 at, struct view *view)
{
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr ip;
		if (bpf_skb_load_bytes(skb, at, &ip, sizeof ip) || ip.version != 4 || ip.ihl < 5)
			return 0;
		if (ip.protocol != IPPROTO_TCP || (ip.frag_off & bpf_htons(0x1fff)))
			return 0;
		view->way.from[3] = ip.saddr;
		view->way.to[3] = ip.daddr;
		view->first = *(__u8 *)&ip;
		view->tos = ip.tos;
		__u32 total = ip.tot_len ? bpf_ntohs(ip.tot_len) : skb->len - at;
		return parse_tcp(skb, at, ip.ihl * 4, total, view);
	}
	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr ip;
		if (bpf_skb_load_bytes(skb, at, &ip, sizeof ip) || ip.version != 6 || ip.nexthdr != IPPROTO_TCP)
			return 0;
		__builtin_memcpy(view->way.from, &ip.saddr, 16);
		__builtin_memcpy(view->way.to, &ip.daddr, 16);
		view->first = ((__u8 *)&ip)[0];
		view->second = ((__u8 *)&ip)[1];
		view->tos = (__u8)(view->first << 4) | view->second >> 4;
		__u32 total = ip.payload_len ? sizeof ip + bpf_ntohs(ip.payload_len) : skb->len - at;
		return parse_tcp(skb, at, sizeof ip, total, view);
	}
	return 0;
}

// Place of a mark from best to worst: EF, AF by drop precedence, CS7 to CS1, all else.
static __always_inline __u32 rank(__u32 dscp)
{
	__u32 class = dscp >> 3, precedence = (dscp & 7) >> 1;
	if (dscp == 46)
		return 0;
	if (!(dscp & 1) && class >= 1 && class <= 4 && precedence)
		return precedence;
	return dscp && !(dscp & 7) ? 11 - class : 11;
}

static __always_inline int keeps(__u32 rule, __u32 earlier, __u32 later)
{
	return (rule == BEST_OF_COVERED && rank(earlier) < rank(later)) ||
	       (rule == WORST_OF_COVERED && rank(earlier) > rank(later));
}

static __always_inline int data_in(struct __sk_buff *skb, __u32 at)
{
	struct view view = {};
	if (!parse(skb, at, &view))
		return TC_ACT_UNSPEC;
	if (view.flags & SYN) {
		bpf_map_delete_elem(&ways, &view.way);
		return TC_ACT_UNSPEC;
	}
	struct settings *set = asked();
	if (!view.payload || !set)
		return TC_ACT_UNSPEC;
	struct covered now = { .dscp = view.tos >> 2 };
	struct covered *before = bpf_map_lookup_elem(&ways, &view.way);
	if (before && !before->answered && keeps(set->rule, before->dscp, now.dscp))
		now.dscp = before->dscp;
	if (bpf_map_update_elem(&ways, &view.way, &now, BPF_ANY))
		count(FAILED);
	count(DATA);
	return TC_ACT_UNSPEC;
}

static __always_inline long rewrite(struct __sk_buff *skb, __u32 at, struct view *view, __u8 tos)
{
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		__u16 old = bpf_htons(view->first << 8 | view->tos), new = bpf_htons(view->first << 8 | tos);
		return bpf_l3_csum_replace(skb, at + offsetof(struct iphdr, check), old, new, 2) ?:
		       bpf_skb_store_bytes(skb, at + offsetof(struct iphdr, tos), &tos, 1, 0);
	}
	__u8 start[2] = { (view->first & 0xf0) | tos >> 4, (__u8)(tos << 4) | (view->second & 0x0f) };
	return bpf_skb_store_bytes(skb, at, start, 2, 0);
}

static __always_inline int ack_out(struct __sk_buff *skb, __u32 at)
{
	struct view view = {};
	if (!parse(skb, at, &view) || view.payload || (view.flags & (SYN | FIN | RST | ACK)) != ACK)
		return TC_ACT_UNSPEC;
	struct settings *set = asked();
	if (!set)
		return TC_ACT_UNSPEC;
	count(ACKS);
	struct way back = { .from_port = view.way.to_port, .to_port = view.way.from_port };
	__builtin_memcpy(back.from, view.way.to, 16);
	__builtin_memcpy(back.to, view.way.from, 16);
	struct covered *covered = bpf_map_lookup_elem(&ways, &back);
	__u8 dscp = 0;
	if (covered) {
		dscp = covered->dscp & 63;
		covered->answered = 1;
	} else {
		count(NO_DATA_SEEN);
	}
	__u8 given = set->given[dscp];
	__u8 tos = (__u8)((given ? given & 63 : dscp) << 2) | (view.tos & 3);
	if (tos != view.tos)
		count(rewrite(skb, at, &view, tos) ? FAILED : CHANGED);
	return TC_ACT_UNSPEC;
}

SEC("classifier") int data_in_eth(struct __sk_buff *skb) { return data_in(skb, ETH_HLEN); }
SEC("classifier") int data_in_raw(struct __sk_buff *skb) { return data_in(skb, 0); }
SEC("classifier") int ack_out_eth(struct __sk_buff *skb) { return ack_out(skb, ETH_HLEN); }
SEC("classifier") int ack_out_raw(struct __sk_buff *skb) { return ack_out(skb, 0); }

char _license[] SEC("license") = "Apache-2.0";
