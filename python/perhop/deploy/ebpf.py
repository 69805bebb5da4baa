"""Commands that mark pure ACKs where they are sent, with the program in `deploy/`."""

from __future__ import annotations

from collections.abc import Sequence

from perhop.deploy.marks import Marking


def marks(marking: Marking) -> str:
    """Return a marking as `ackmark-ebpf` takes it."""
    if marking.fixed is not None:
        return f"any={marking.fixed}"
    if marking.given == tuple(range(64)):
        return "copy"
    return ",".join(["any=0", *(f"{data}={ack}" for data, ack in enumerate(marking.given) if ack)])


def commands(marking: Marking, device: str, comments: Sequence[str] = ()) -> str:
    """Return shell commands for the folder `deploy`, those of removal as comments."""
    return "\n".join(
        [
            *(f"# {comment}" for comment in comments),
            "make",
            f"./ackmark-ebpf install {device} {marks(marking)} {marking.rule}",
            f"./ackmark-ebpf check {device}",
            f"# ./ackmark-ebpf remove {device}",
            "",
        ]
    )
