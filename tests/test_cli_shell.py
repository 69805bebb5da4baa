"""What belongs to the shell: completion, the manual page, colour where errors are printed."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from conftest import Cli
from perhop.cli.man import _each
from perhop.cli.parser import build_app

PERHOP = Path(sys.executable).with_name("perhop")


def on_terminal(arguments: list[str], **environment: str) -> str:
    """Run perhop with standard error on a terminal, and return what it printed there."""
    ours, theirs = pty.openpty()
    subprocess.run(
        [PERHOP, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**{key: value for key, value in os.environ.items() if key != "NO_COLOR"}, **environment},
        check=False,
    )
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:  # the terminal is closed
        pass
    os.close(ours)
    return text.decode()


def test_errors_have_colour_on_a_terminal_alone(tmp_path: Path) -> None:
    wrong = ["run", str(tmp_path / "nowhere.toml")]
    told = on_terminal(wrong, TERM="xterm")
    assert "\x1b[1;31merror\x1b[0m:" in told
    assert "\x1b[" not in on_terminal(wrong, TERM="xterm", NO_COLOR="1")
    assert "\x1b[" not in on_terminal(wrong, TERM="dumb")
    piped = subprocess.run([PERHOP, *wrong], capture_output=True, text=True, check=False)
    assert piped.stderr.startswith("error: ")
    assert "\x1b[" not in piped.stderr
    (tmp_path / "bad.toml").write_text("[run]\nduration = 3\n")
    assert "\x1b[31m  ×" in on_terminal(["run", str(tmp_path / "bad.toml")], TERM="xterm")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands(shell: str) -> None:
    shown = subprocess.run([PERHOP, "--show-completion", shell], capture_output=True, text=True, check=False)
    assert "perhop" in shown.stdout
    asked = {**os.environ, "_PERHOP_COMPLETE": "complete_bash", "COMP_WORDS": "perhop re", "COMP_CWORD": "1"}
    done = subprocess.run([PERHOP], env=asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["recommend", "report", "replay", "reproduce"]


def test_the_manual_page_has_every_command_and_option(cli: Cli) -> None:
    page = cli("man").out
    for name, whole in typer.main.get_command(build_app()).commands.items():  # type: ignore[attr-defined]
        for path, one in _each(name, whole):
            assert f".SS {path}\n" in page
            for option in (word for own in one.params for word in own.opts if word.startswith("-")):
                assert option.replace("-", "\\-") in page
    if shutil.which("man"):
        done = subprocess.run(
            ["man", "--warnings", "-l", "-"], input=page, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "perhop - Scenarios of TCP" in " ".join(done.stdout.replace("\x08", "").split())
