"""CoDel by RFC 8289 as perhop has it: drops at departure, once packets have waited too long."""

from collections import deque
from math import isqrt


class Codel:
    """Holds the waiting time near a target."""

    def __init__(self, place, target_ns=5_000_000, interval_ns=100_000_000):
        self.place, self.packets = place, deque()
        self.target, self.interval, self.longest = target_ns, interval_ns, 0
        self.first_above, self.drop_next = None, 0
        self.count = self.last_count = 0
        self.dropping = False

    def enqueue(self, now, packet):
        self.longest = max(self.longest, packet.length)
        if not self.place.has_room(packet):
            return "overflow"
        self.packets.append(packet)
        return None

    def turn(self, now):
        """Give the next packet, and whether it may be dropped."""
        if not self.packets:
            self.first_above = None
            return None, False
        packet = self.packets.popleft()
        # the packet counts as waiting until it is given back
        left = self.place.bytes - packet.length
        if now - packet.arrived < self.target or left <= self.longest:
            self.first_above = None
            return packet, False
        if self.first_above is None:
            self.first_above = now + self.interval
            return packet, False
        return packet, now >= self.first_above

    def after(self, at):
        return at + isqrt(self.interval * self.interval // self.count)

    def dequeue(self, now):
        packet, late = self.turn(now)
        if self.dropping:
            self.dropping = late
            while self.dropping and now >= self.drop_next:
                self.count += 1
                self.place.drop(packet, "sojourn")
                packet, late = self.turn(now)
                self.dropping = late
                if late:
                    self.drop_next = self.after(self.drop_next)
        elif late:
            self.place.drop(packet, "sojourn")
            packet, late = self.turn(now)
            self.dropping = True
            since = self.count - self.last_count
            lately = since > 1 and now - self.drop_next < 16 * self.interval
            self.count = since if lately else 1
            self.drop_next = self.after(now)
            self.last_count = self.count
        return packet
