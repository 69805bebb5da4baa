"""Deficit round robin as perhop has it (Shreedhar and Varghese 1995)."""


class Drr:
    """Serves each class `quantum` bytes in a turn."""

    def __init__(self, place, quantum=1500):
        self.quantum, self.deficit, self.active = quantum, [0] * len(place.classes), []

    def begin_turn(self):
        if self.active:
            self.deficit[self.active[0]] += self.quantum

    def on_enqueued(self, now, c, packet):
        if c not in self.active:
            self.active.append(c)
            if len(self.active) == 1:
                self.begin_turn()

    def on_emptied(self, now, c):
        at = self.active.index(c)
        del self.active[at]
        self.deficit[c] = 0
        if at == 0:
            self.begin_turn()

    def select(self, now, heads):
        while True:
            front = self.active[0]
            if heads[front].length <= self.deficit[front]:
                return front
            self.active.append(self.active.pop(0))
            self.begin_turn()

    def on_served(self, now, c, packet):
        self.deficit[c] -= packet.length
