"""Studies: published numbers, scenarios that repeat them, judged claims.

A study is a folder (docs/studies.md): `study.toml`, scenarios, campaigns, `claims.toml`, `readings.toml`,
`published/*.csv`, `expected/quick.json`, `recorded/`. Each module here does one step:

`form`
    The keys of `study.toml` and `readings.toml`.
`folder`, `folder_faults`
    Read the files into a `study.Study`, and find what does not fit.
`plan`
    All its runs: campaigns as fitted, under each of the `readings`, beyond the paper, in one store; single
    runs to draw; and what is left out. `campaigns` changes campaigns, `refit` says which readings vote.
`reproduce`
    Runs or resumes a plan, and writes the pages.
`reduce`
    Makes an `outcome` of what was measured: rows, findings, and claims that `perhop.judge` judged and
    `claims` puts together with their readings.
`folder_page`
    The page.
`recorded`, `on_record`, `again`
    Write `recorded/`, read it, and make its runs again; `behind` names them.
`kernel`
    The same on real packets.
`packed`
    The folder as one file.

What only one study uses is in its folder, `study.py`.
"""
