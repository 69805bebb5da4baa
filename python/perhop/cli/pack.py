"""`perhop pack`: a study as one file, for an archive or another machine."""

from __future__ import annotations

from pathlib import Path

from perhop.cli import options
from perhop.cli.exit import UsageError
from perhop.cli.options import argument, option
from perhop.cli.output import answer, note
from perhop.units import counted, size


def command(
    directory: Path = argument("DIR", "Folder of a study, with a study.toml."),
    out: Path | None = option("-o --out", "FILE", "Default: out/<folder's name>.zip."),
    force: bool = options.FORCE,
    as_json: bool = options.JSON,
) -> None:
    """Make one file of a study: all files of its folder with their hashes, the same bytes each time."""
    from perhop.experiment.kinds import is_study
    from perhop.papers import packed
    from perhop.papers.folder import load
    from perhop.run.folder import always
    from perhop.run.seal import file_hash

    directory.stat()  # what is not there is told as such
    if not directory.is_dir() or not is_study(directory):
        raise options.no_study(directory)
    file = out or Path("out") / f"{directory.resolve().name}.zip"
    if out is None:
        file.parent.mkdir(exist_ok=True)
    if file.resolve().is_relative_to(directory.resolve()):
        raise UsageError(
            f"{file} is inside the study, and would be packed with it", "write it beside the study"
        )
    may_replace = always if force else packed.is_packed
    options.check_target(file, may_replace)
    load(directory)
    manifest = packed.pack(directory, file, load, may_replace)
    lacking = packed.lacks(directory, manifest)
    length = file.stat().st_size
    found = {"file": str(file), "bytes": length, "sha256": file_hash(file), "files": len(manifest.files)}
    found |= {"programs": manifest.programs, "lacks": lacking}
    note(*lacking)
    if manifest.programs:
        note(f"holds programs, which others run with --trust alone: {', '.join(manifest.programs)}")
    files = counted(len(manifest.files), "file")
    answer(found, f"{file}: {files}, {size(length)}, SHA-256 {found['sha256']}", as_json)
