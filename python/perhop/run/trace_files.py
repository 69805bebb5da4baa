"""Tables on disk; traces while a run goes on, so that only the disk bounds their length."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

import polars as pl

from perhop.run.seal import Hashed

if TYPE_CHECKING:
    from collections.abc import Callable


class TraceFiles:
    """The files of traces in a run's folder.

    A trace of one part is a file, one of more a folder of that name with a file for each: polars and most
    others read both by the one name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: dict[str, int] = {}
        self._csv: Any = None
        self.hashes: dict[str, str] = {}
        """SHA-256 of each file, by its name in the folder."""

    def add(self, kind: str, rows: pl.DataFrame) -> None:
        """Write further rows of a trace; an OSError, as of a full disk, names the file."""
        place = trace_file(self._folder, kind)
        parts = self._parts.get(kind, 0)
        if parts > 0 and rows.is_empty():
            return
        if parts == 1:
            first = place.rename(place.with_suffix(".first"))
            place.mkdir()
            first.rename(_part(place, 0))
            self.hashes[self._name(_part(place, 0))] = self.hashes.pop(self._name(place))
        file = _part(place, parts) if parts else place
        self.hashes[self._name(file)] = write_table(rows.write_parquet, file).hexdigest()
        if kind == "tcp":
            header, plain = parts == 0, _plain(rows)
            csv = place.with_suffix(".csv")
            self._csv = write_table(
                lambda file: plain.write_csv(file, include_header=header), csv, "ab", self._csv
            )
            self.hashes[self._name(csv)] = self._csv.hexdigest()
        self._parts[kind] = parts + 1

    def _name(self, file: Path) -> str:
        return str(file.relative_to(self._folder))


def trace_file(folder: Path, kind: str) -> Path:
    """Return where a trace is in a run's folder."""
    return folder / f"trace.{kind}.parquet"


def is_trace(path: Path) -> bool:
    """Return whether a folder holds the parts of a trace and nothing else."""
    return path.name.startswith("trace.") and all(_PART.fullmatch(part) for part in os.listdir(path))


_PART = re.compile(r"\d{6,}\.parquet")


def _part(place: Path, number: int) -> Path:
    return place / f"{number:06}.parquet"


def write_table(
    write: Callable[[IO[bytes]], None], file: Path, mode: Literal["xb", "ab"] = "xb", digest: Any = None
) -> Any:
    """Write a table, and return the SHA-256 of the file so far, from that of its contents.

    An OSError names the file, which polars does not.
    """
    hashed = None
    try:
        with open(file, mode) as out:
            hashed = Hashed(out, digest)
            write(cast("IO[bytes]", hashed))
        return hashed.digest
    except (OSError, pl.exceptions.PolarsError) as error:
        refused = hashed and hashed.refused
        number = refused.errno if refused else getattr(error, "errno", None)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(file)) from error


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with nine decimals in times and six in other fractions, never an exponent."""
    return table.with_columns(
        pl.col(name).cast(pl.Decimal(38, 9 if name.endswith("_s") else 6))
        for name, kind in table.schema.items()
        if kind.is_float()
    )
