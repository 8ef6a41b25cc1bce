#!/usr/bin/env bash
# Builds and runs the benchmarks, and prints a table of ours beside named peers. Pass --help for what it takes.
#
#     Scripts/run-benchmarks.sh --filter limiter
#
# The benchmarks are a package of their own, built into the root's folder, so that Sluice and its dependencies are built
# once. The root goes first: the rows of `sluice get` run its program, which must not be an old one.
set -euo pipefail
cd "$(dirname "$0")/.."
Scripts/build-release.sh
# With the variable that build-release.sh sets: else each would compile anew what the other built.
(cd Benchmarks && SLUICE_WARNINGS_AS_ERRORS=1 swift build -c release --scratch-path ../.build)
exec .build/release/Benchmarks "$@"
