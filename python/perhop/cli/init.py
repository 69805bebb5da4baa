"""`perhop init`: an annotated scenario and a campaign on it, or a study, to start from."""

from __future__ import annotations

import shlex
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from perhop.cli import options
from perhop.cli.exit import UsageError
from perhop.cli.options import argument, flag, option
from perhop.experiment.kinds import LESSON

_STARTERS = Path(__file__).parents[1] / "starters"


class Pack(StrEnum):
    """A scenario to start from, named as its folder in `starters`."""

    TWO_WAY = "two-way"
    DIFFSERV = "diffserv"
    ACCESS = "access"
    LINE = "line"
    DOCSIS = "docsis"
    LTE = "lte"
    ENTERPRISE = "enterprise"
    TUTORIAL = "tutorial"
    LESSON_BUFFERBLOAT = "lesson-bufferbloat"
    LESSON_RED = "lesson-red"
    LESSON_AF = "lesson-af"
    LESSON_UPLOAD = "lesson-upload"
    LESSON_RECOVERIES = "lesson-recoveries"
    LESSON_CHANCE = "lesson-chance"

    @property
    def is_lesson(self) -> bool:
        """Whether it has questions."""
        return (_STARTERS / self.value / LESSON).is_file()


class Element(StrEnum):
    """A kind of elements in Python, named as its folder in `starters/elements`."""

    QUEUE = "queue"
    METER = "meter"
    SCHEDULER = "scheduler"
    CONTROL = "control"
    ACK = "ack"


def command(
    directory: Path = argument("[DIR]", "Where to; made if missing.", Path()),
    pack: Pack = option(
        "--pack",
        None,
        "two-way: TCP over an asymmetric link; diffserv: edges and cores with AF and EF; "
        "access: a line of 100 Mbit/s down and 5 up with classes by marks, a call, uploads, downloads "
        "and the web; docsis: a cable line whose modem waits for grants; lte: a mobile line whose rate "
        "wanders; enterprise: a VPN line with promises to voice, video, business and the rest; "
        "line: your own line and who uses it, as the next six options say; without any of them it asks. "
        "tutorial: a page of fifteen minutes, from a bad call to a good one; "
        "lesson-...: a lesson, with questions that perhop lesson check answers.",
        Pack.TWO_WAY,
    ),
    down: str | None = option("--down", "RATE", "Of a line: the rate down (100Mbit/s)."),
    up: str | None = option("--up", "RATE", "The rate up (5Mbit/s)."),
    round_trip: str | None = option(
        "--round-trip", "TIME", "There and back to a server, nothing waiting (30ms)."
    ),
    buffer: str | None = option("--buffer", "TIME|SIZE", "What waits at most at either end (200ms)."),
    overhead: str | None = option("--overhead", "SIZE", "What the line adds to each IP packet (0B)."),
    use: str | None = option(
        "--use", "WHO,...", "Of pages, chat, video, call, download, upload; video=2 is two (all but chat)."
    ),
    element: Element | None = option(
        "--element", None, "An element of your own in Python instead, in a scenario that uses it."
    ),
    notebook: bool = flag("--notebook", "A first look at it as well, for marimo and for Jupyter."),
    study: bool = flag("--study", "A study instead: claims of a paper, judged on a campaign."),
    as_json: bool = options.JSON,
) -> None:
    """Write an annotated scenario, a campaign on it, their schemas and a README with next steps."""
    from perhop import _core
    from perhop.cli import line
    from perhop.cli.output import print_json
    from perhop.notebook import starter
    from perhop.papers import form
    from perhop.run.folder import is_there, write_file

    if study and (pack is not Pack.TWO_WAY or notebook):
        raise UsageError("--study goes with neither --pack nor --notebook", "leave the other option out")
    if element and (study or pack is not Pack.TWO_WAY or notebook):
        others = "--study, --pack nor --notebook"
        raise UsageError(f"--element goes with neither {others}", "leave the other option out")
    given = {"down": down, "up": up, "round_trip": round_trip}
    given |= {"buffer": buffer, "overhead": overhead, "use": use}
    is_page = pack.is_lesson or pack is Pack.TUTORIAL
    if is_page and notebook:
        raise UsageError(f"--notebook goes with no lesson, such as {pack.value}", "leave it out")
    if any(one is not None for one in given.values()) and (study or element or pack is not Pack.LINE):
        rest = ", and leave --study and --element out" if study or element else ""
        raise UsageError("a rate, a buffer or users are those of a line", f"add --pack line{rest}")
    scenario = "scenario.toml" if element else f"{pack.value}.toml"
    place = _STARTERS / "elements" / element if element else _STARTERS / pack.value
    # a program to start from is none of perhop's modules: its name has an end more here
    starters = sorted(one for one in place.iterdir() if one.is_file() and one.suffix != ".j2")
    files = {directory / one.name.removesuffix(".txt"): one.read_text("utf-8") for one in starters}
    if pack is Pack.LINE:
        before = directory / scenario
        if is_there(before):
            raise UsageError(f"{before}: there already, nothing written", "choose an empty folder")
        made = line.files(line.asked(given), place, directory)
        files = {directory / name: text for name, text in made.items()} | files
    if study:
        own = _STARTERS / "study"
        texts = [one for one in own.rglob("*") if one.is_file()]
        files |= {directory / one.relative_to(own): one.read_text("utf-8") for one in sorted(texts)}
        files[directory / "perhop.study.schema.json"] = form.schema().rstrip() + "\n"
    if not is_page:
        files[directory / "perhop.schema.json"] = _core.schema().rstrip() + "\n"
        files[directory / "perhop.campaign.schema.json"] = _core.campaign_schema().rstrip() + "\n"
    if notebook:
        chance = "link.slow-fast.loss=0.005" if pack is Pack.TWO_WAY else ""
        cells = starter.cells(scenario, chance, "mo.notebook_dir() / ")
        files[directory / "first-look.py"] = starter.marimo(cells)
        files[directory / "first-look.ipynb"] = starter.jupyter(starter.cells(scenario, chance))
    there = [str(file) for file in files if is_there(file)]
    if there:
        raise UsageError(f"{', '.join(there)}: there already, nothing written", "choose an empty folder")
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            file.parent.mkdir(exist_ok=True)
            write_file(file, text)
            written.append(file)
    except BaseException:
        with suppress(OSError):
            for file in written:
                file.unlink(missing_ok=True)
                if file.parent != directory:
                    file.parent.rmdir()
            for folder in missing:
                folder.rmdir()
        raise
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        for file in files:
            print(file)
        command = ["reproduce", str(directory), "--quick"] if study else ["run", str(directory / scenario)]
        if pack.is_lesson:
            command = ["lesson", "check", str(directory / "answers.toml")]
            print(f"first: read {directory / 'lesson.md'} and fill in answers.toml")
        if element:
            (program,) = (one for one in files if one.suffix == ".py")
            command = ["test-element", str(program)]
        done = f"read {directory / 'tutorial.md'}" if pack is Pack.TUTORIAL else None
        print(f"next: {done or shlex.join(['perhop', *command])}")
        if notebook:
            first = shlex.quote(str(directory / "first-look"))
            print(f"or:   marimo edit {first}.py  # pip install marimo")
            print(f"or:   jupyter lab {first}.ipynb  # pip install jupyterlab")
