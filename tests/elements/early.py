"""RED as perhop has it, step for step, by the same draws; and queues without early detection."""

from collections import deque


class Fifo:
    """Drops what finds no room."""

    def __init__(self, place):
        self.place, self.packets = place, deque()

    def enqueue(self, now, packet):
        if not self.place.has_room(packet):
            return "overflow"
        self.packets.append(packet)
        return None

    def dequeue(self, now):
        return self.packets.popleft() if self.packets else None


class Chance:
    """Events by chance, by inversion: one draw at the start, and one for each event."""

    def __init__(self, rng):
        self.rng = rng
        self.left = self.until()

    def until(self):
        return 1.0 / (1.0 - self.rng.unit())

    def happens(self, p):
        self.left *= 1.0 - p
        happens = self.left < 1.0
        if happens:
            self.left = self.until()
        return happens


class Red(Fifo):
    """Figure 2 of Floyd and Jacobson 1993, in packets."""

    def __init__(self, place, min_th, max_th, max_p, w_q=0.002, mean_packet=500):
        super().__init__(place)
        self.chance = Chance(place.rng)
        self.min_th, self.max_th, self.w_q = min_th, max_th, w_q
        self.slope = max_p / (max_th - min_th)
        self.packet_ns = mean_packet * 8e9 / place.rate_bit_s
        self.average, self.count, self.empty_since = 0.0, -1, 0

    def enqueue(self, now, packet):
        if self.packets:
            self.average += self.w_q * (len(self.packets) - self.average)
        else:
            if self.average > 0:
                self.average *= (1.0 - self.w_q) ** ((now - self.empty_since) / self.packet_ns)
            self.empty_since = max(self.empty_since, now)
        if self.average >= self.max_th:
            self.count = 0
            return "forced"
        chosen = False
        if self.average < self.min_th:
            self.count = -1
        else:
            self.count += 1
            p_b = (self.average - self.min_th) * self.slope
            left = 1.0 - self.count * p_b
            chosen = self.chance.happens(p_b / left if left > p_b else 1.0)
        if chosen:
            self.count = 0
            if packet.ecn == "not-ect":
                return "early"
        why = super().enqueue(now, packet)
        if why:
            self.count = 0
        elif chosen:
            self.place.mark(packet)
        return why

    def dequeue(self, now):
        if len(self.packets) == 1:
            self.empty_since = now
        return super().dequeue(now)


class DropFront(Fifo):
    """Pushes out those that have waited longest."""

    def enqueue(self, now, packet):
        while self.packets and not self.place.has_room(packet):
            self.place.drop(self.packets.popleft(), "overflow")
        return super().enqueue(now, packet)
