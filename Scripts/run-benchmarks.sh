#!/usr/bin/env bash
# Builds and runs the benchmarks, and prints a table of ours beside named peers. Pass --help for what it takes.
#
#     Scripts/run-benchmarks.sh --filter limiter
#     SLUICE_ONLY=SluiceConcurrency Scripts/run-benchmarks.sh      # that module's rows alone: a minute to build
#     SLUICE_ONLY=SluiceFiles Scripts/run-benchmarks.sh
#
# The benchmarks are a package of their own, built into the root's directory, so that Sluice and its dependencies are built
# once. The root goes first: the rows of `sluice get` run its program, which must not be an old one. SwiftPM would take the plan
# of the package that was built last into that directory, which the option forbids.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=${SLUICE_SCRATCH:-.build}
if [[ -n ${SLUICE_ONLY:-} ]]; then
    if [[ $SLUICE_ONLY != SluiceConcurrency && $SLUICE_ONLY != SluiceFiles ]]; then
        echo "SLUICE_ONLY=$SLUICE_ONLY: only the rows of SluiceConcurrency or SluiceFiles can be built alone."
        exit 1
    fi
    # Another graph of packages: in a directory of its own, so that neither build undoes the other's.
    scratch=.build-only-benchmarks-$SLUICE_ONLY
else
    swift build -c release --product sluice --scratch-path "$scratch" --disable-build-manifest-caching
fi
swift build -c release --package-path Benchmarks --scratch-path "$scratch" --disable-build-manifest-caching
# With all rows asked for, a row that is gone from the catalogue is an error too.
[[ " $* " == *" --require-all "* ]] && set -- "$@" --expected Benchmarks/expected-rows.txt
exec "$scratch/release/Benchmarks" "$@"
