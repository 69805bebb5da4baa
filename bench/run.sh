#!/usr/bin/env bash
# Measures every case and records it: bench/runs/<date>-<machine kind>/{raw.json,summary.md,elements.md,machine.txt}.
#
# bench/run.sh [OPTION]...      options as for perhop-bench, for instance --case dumbbell-100; then without elements
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --quiet --locked -p perhop-bench
program=${CARGO_TARGET_DIR:-target}/release/perhop-bench

model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
kind=$(grep -oiE 'xeon|epyc|ryzen|neoverse|core' <<<"$model" | head -1 | tr '[:upper:]' '[:lower:]' || true)
folder=bench/runs/$(date -u +%F)-${kind:-$(uname -m)}-$(nproc)core
part=$folder.partial-$$
trap 'rm -rf "$part"' EXIT
mkdir -p "$part"

{
  echo "processor: ${model:-$(uname -m)}, $(nproc) cores"
  lscpu | grep -E '^(L1d|L2|L3|Hypervisor)' || true
  echo "memory: $(awk '/MemTotal/ { printf "%.0f GB", $2 / 1e6 }' /proc/meminfo)"
  echo "system: $(uname -srm)"
  echo "compiler: $(rustc --version)"
  echo "commit: $(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)"
  echo "load average before: $(cut -d' ' -f1-3 /proc/loadavg)"
} >"$part/machine.txt"

"$program" --json "$@" 2>&1 >"$part/raw.json" | tee "$part/said" >&2
[ $# -gt 0 ] || python3 bench/elements/record.py >"$part/elements.md"
echo "load average after: $(cut -d' ' -f1-3 /proc/loadavg)" >>"$part/machine.txt"

{
  echo "# $(basename "$folder")"
  echo
  echo "The fastest of seven runs each; what is measured: docs/benchmarks.md. The machine: machine.txt."
  echo
  grep -E '^(\||-|$)' "$part/said"
} >"$part/summary.md"
rm "$part/said"

rm -rf "$folder"
mv "$part" "$folder"
echo "$folder"
