"""Runs commands in forks of a process that has everything imported, under the faults that each asks for.

A line of standard input is a job: ``arguments``, ``folder``, ``environment``, ``said`` (a file);
the answer is its exit status, negative for a signal.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import pkgutil
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any

import perhop
from perhop.cli.__main__ import run
from perhop.plot import style
from perhop.report import page

for part in ("cli", "experiment", "plot", "report", "stats"):
    for module in pkgutil.iter_modules([f"{perhop.__path__[0]}/{part}"], f"perhop.{part}."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
for name in ("matplotlib.backends.backend_svg", "matplotlib.figure", "scipy.stats", "jinja2", "sqlite3"):
    import_module(name)
# and what the first command, template and figure look up; no table is read, for threads do not fork
with redirect_stdout(io.StringIO()):
    run(["schema"])
for template in page.environment().list_templates(["j2"]):
    page.environment().get_template(template)
with style.figure() as (made, _):
    style.svg(made, "", "")
# drawing is most of the time that a page takes, and touches no file
style.svg = lambda *_: f"<svg><!--{'.' * 40_000}--></svg>"


def work(job: dict[str, Any]) -> int:
    os.setsid()
    os.chdir(job["folder"])
    said = os.open(job["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.environ.update(job["environment"])
    if job["environment"]:
        ctypes.CDLL(None).faults_begin()
    return run(job["arguments"])


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = work(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
