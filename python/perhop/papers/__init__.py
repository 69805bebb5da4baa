"""Reproduction packs: published numbers, scenarios that repeat them, judged claims.

A study is a folder (docs/studies.md): `study.toml`, scenarios, campaigns, `claims.toml`, `readings.toml`,
`published/*.csv`, `expected/quick.json`, `recorded/`. `perhop.papers.form` has the keys of `study.toml`,
`perhop.papers.folder` reads the files into a `study_folder`, `folder_faults` finds what does not fit,
`perhop.papers.of_folder` makes a study of them (`perhop.papers.study.Study`),
`perhop.papers.folder_page` its page. What is on record of it is `recorded/`: `perhop.papers.recorded`
writes it, `on_record` reads it, `again` makes its runs again.

`perhop.papers.reproduce` calls of such a `Study`, in this order, as `plan`, `reduce` and so on:

`plan(quick)`
    All runs, a `perhop.papers.plan.Plan`: campaigns at the fitted point, under each reading, beyond the
    paper, run or resumed in one store; single runs whose series or traces are drawn. `plan.left_out` says
    what the quick form does not do. Runs that a claim compares share the seed, so that they can be paired by
    replication (common random numbers).
`reduce(plan, results, command, results_version)`
    The outcome: a `document` of plain JSON values, `warnings`, `left_out`, and whatever the page needs. What
    a campaign measured is a `perhop.judge.measured.Measurements`.
`page(plan, outcome)`
    The HTML page. `perhop.report.study.render` makes one of sections, tables and drawings.
`summary(outcome)`
    The table that the command prints; by default every row with a published number.
`calibrate(run)`
    For `--calibrate`: search the free parameters again, by campaigns that `run` runs or resumes, and return
    the record; by default none.

Rows of a document are made by `perhop.papers.document`, parts of claims judged by `perhop.judge`, the judged
claim with its readings by `perhop.papers.claims`. What a paper leaves open is in `readings.toml`; see
`perhop.papers.readings`. What only one study uses is in its folder, `study.py`.
"""
