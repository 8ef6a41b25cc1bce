#!/usr/bin/env bash
# Builds and runs the benchmarks, and prints a table of ours beside named peers. Pass --help for what it takes.
#
#     Scripts/run-benchmarks.sh --filter limiter
#
# Sluice and its dependencies are taken from the root's release build, which Scripts/build-release.sh makes.
set -euo pipefail
cd "$(dirname "$0")/.."
(cd Benchmarks && swift build -c release --scratch-path ../.build)
exec .build/release/Benchmarks "$@"
