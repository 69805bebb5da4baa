"""`bench/htsim/rounds.py` names what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "bench" / "htsim" / "rounds.py"


def test_a_folder_that_is_no_clone_is_refused(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("no clone of csg-htsim, for it has no sim/eventlist.h\n") or (
        done.stderr.endswith(" is not installed\n")
    )
