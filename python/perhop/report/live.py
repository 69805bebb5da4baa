"""The part of a run's page about real packets: its validity, and the simulator beside it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from perhop.plot import panels
from perhop.report import overview, page
from perhop.report.side_by_side import ComparedRow, applications, by_class_of, numbers
from perhop.run.run import run as simulate

if TYPE_CHECKING:
    from perhop.run.record import StoredRun


def part(run: StoredRun) -> dict[str, Any] | None:
    """Return the page's part about a live run; None of one in virtual time.

    The scenario is simulated for it, a second or two as a rule; one with a kernel's senders is not.
    """
    how = run.record.live
    if how is None:
        return None
    scenario = run.scenario().override('run.clock="virtual"')
    controls = sorted({name for host in how.hosts.values() for name in host.controls or ()})
    only = [f"{one['path']} is {one['value']}" for one in scenario.kernel_only()]
    if only:
        return {"how": how, "controls": controls, "only": only}
    simulated = simulate(scenario)
    kernel = by_class_of(run.table("classes"), run.table("flows"))
    simulator = by_class_of(simulated.classes, simulated.flows)
    rows = [ComparedRow(name, (("kernel", kernel[name]), ("simulator", simulator[name]))) for name in kernel]
    both = {
        "kernel": overview.whole(scenario, run.table("links"), run.table("series")),
        "simulator": overview.whole(scenario, simulated.links, simulated.series),
    }
    drawn, title = panels.beside(both), "Kernel and simulator"
    caption = f"The same scenario on real packets and in virtual time. {overview.CAPTION}"
    picture, lines = panels.draw(drawn, title), panels.data(drawn)
    return {
        "how": how,
        "controls": controls,
        "only": [],
        "numbers": [
            *applications({"kernel": run.table, "simulator": lambda name: getattr(simulated, name)}),
            numbers(rows, "By class, after the warm-up"),
        ],
        "figure": page.drawing("two-clocks", title, picture, caption, _virtual_command(run), panels=lines),
    }


def _virtual_command(run: StoredRun) -> str:
    kept = [one for one in run.record.overrides if not one.startswith("run.clock")]
    words = (word for one in (*kept, "run.clock=virtual") for word in ("-s", one))
    return shlex.join(["perhop", "run", run.record.scenario, *words])
