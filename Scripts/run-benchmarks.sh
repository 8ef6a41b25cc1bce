#!/usr/bin/env bash
# Builds and runs the benchmarks, and prints a table of ours beside named peers. Pass --help for what it takes.
#
#     Scripts/run-benchmarks.sh --filter limiter
#     SLUICE_ONLY=SluiceConcurrency Scripts/run-benchmarks.sh      # that module's rows alone: a minute to build
#     SLUICE_ONLY=SluiceFiles Scripts/run-benchmarks.sh
#
# The benchmarks are a package of their own, built into the root's folder, so that Sluice and its dependencies are built
# once. The root goes first: the rows of `sluice get` run its program, which must not be an old one.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ -n ${SLUICE_ONLY:-} ]]; then
    if [[ $SLUICE_ONLY != SluiceConcurrency && $SLUICE_ONLY != SluiceFiles ]]; then
        echo "SLUICE_ONLY=$SLUICE_ONLY: only the rows of SluiceConcurrency or SluiceFiles can be built alone."
        exit 1
    fi
    # Another graph of packages: in a folder of its own, so that neither build undoes the other's.
    scratch=.build-only-benchmarks-$SLUICE_ONLY
else
    scratch=.build
    Scripts/build-release.sh
fi
# With the variable that build-release.sh sets: else each would compile anew what the other built.
(cd Benchmarks && SLUICE_WARNINGS_AS_ERRORS=1 swift build -c release --scratch-path "../$scratch")
# Whoever wants all rows also wants to know if one is gone from the catalogue.
[[ " $* " == *" --require-all "* ]] && set -- "$@" --expected Benchmarks/expected-rows.txt
exec "$scratch/release/Benchmarks" "$@"
