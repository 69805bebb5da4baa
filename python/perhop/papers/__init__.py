"""Reproduction packs: published numbers, the scenarios that repeat them, verdicts on the claims.

A study has two halves. `papers/<key>/` is its pack: `README.md`, scenario files, `figures.toml` (every run),
`claims.toml` (every claim, with the predicate that judges it), `readings.toml` (what the paper leaves open),
`published/*.csv`, `expected/quick.json`; see `perhop.papers.pack`. `perhop/papers/<key>/` is its code, with a
module `study` that holds

    STUDY = SomeStudy()          # a subclass of perhop.papers.study.Study

and the key in `perhop.cli.reproduce.PAPERS`. `perhop reproduce <key>` then calls, in this order:

`plan(quick)`
    All runs, as `plan.jobs`: scenario text, name in errors, overrides; a `TracedJob` adds what to trace.
    `plan.left_out` says what the quick form does not do. Replications of a run differ in
    ``run.replication=<k>``; runs that a claim compares share the seed, so that they can be paired by
    replication (common random numbers).
`campaigns(plan)`
    Of a study written on designs, in place of jobs: campaigns that are run or resumed in one store.
`keep(job, result)`
    Called in a worker thread as each run ends; what it returns is what is kept of the run. It must refuse a
    run with a broken invariant (`check_run`).
`reduce(plan, kept, command, results_version)`
    The outcome: a `document` of plain JSON values, `warnings`, `left_out`, and whatever the page needs.
`page(plan, outcome)`
    The HTML page. `perhop.report.study.render` makes one of sections, tables and drawings.
`summary(outcome)`
    The table that the command prints; by default every row with a published number.
`calibrate(run)`
    For `--calibrate`: search the free parameters again and return the record; by default none.

Rows of a document and the parts of a claim are made by `perhop.papers.document` (`row`, `judge`; `plan` calls
its `check_claims`), verdicts on parts by `perhop.papers.verdict`, the judged claim with its readings by
`perhop.papers.claims`. What a paper leaves open is in the pack, `readings.toml`; see
`perhop.papers.readings`.
"""

from perhop.papers.error import PackError
from perhop.papers.pack import Claim, Pack, load_pack, pack_dir
from perhop.papers.readings import Reading, load_readings
from perhop.papers.verdict import Asked, Part, Verdict, compound, judge

__all__ = [
    "Asked",
    "Claim",
    "Pack",
    "PackError",
    "Part",
    "Reading",
    "Verdict",
    "compound",
    "judge",
    "load_pack",
    "load_readings",
    "pack_dir",
]
