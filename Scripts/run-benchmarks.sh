#!/usr/bin/env bash
# Builds and runs the benchmarks, and prints a table that compares Sluice with named peers. Pass --help for the options.
#
#     Scripts/run-benchmarks.sh --filter limiter
#     SLUICE_ONLY=SluiceConcurrency Scripts/run-benchmarks.sh      # only the rows of this module: a minute to build
#     SLUICE_ONLY=SluiceFiles Scripts/run-benchmarks.sh
#     SLUICE_TRAITS=PostgreSQL Scripts/checks/postgres.sh Scripts/run-benchmarks.sh --filter postgres/
#     Scripts/run-benchmarks.sh --install-peers                    # only installs the Python packages that some rows compare with
#
# The benchmarks are a separate package, built into the root's directory, so that Sluice and its dependencies are built once. The root is
# built first, because the rows of `sluice get` run its program. Without --disable-build-manifest-caching, SwiftPM would reuse the build
# plan of the package that was last built into that directory.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} == --install-peers ]]; then
    # Needs python3 (Scripts/install-system-packages.sh) and the network.
    peers=.build/benchmark-peers packages=(diskcache==5.6.3 hishel==2.0.0 httpx==0.28.1 pyromark==0.10.3)
    [[ -f $peers/packages && $(<"$peers/packages") == "${packages[*]}" ]] && { echo "nothing is missing"; exit; }
    rm -rf "$peers"
    mkdir -p "$peers"
    # Some systems have no ensurepip; pip can install into another directory without it.
    python3 -m pip install --quiet --root-user-action ignore --disable-pip-version-check --target "$peers/python" "${packages[@]}"
    echo "${packages[*]}" >"$peers/packages"
    exit
fi
scratch=${SLUICE_SCRATCH:-.build}
if [[ -n ${SLUICE_ONLY:-} ]]; then
    if [[ $SLUICE_ONLY != SluiceConcurrency && $SLUICE_ONLY != SluiceFiles ]]; then
        echo "SLUICE_ONLY=$SLUICE_ONLY: set it to SluiceConcurrency or SluiceFiles; other modules can't be built alone here."
        exit 1
    fi
    # A different package graph needs a separate directory, or each build undoes the other.
    scratch=.build-only-benchmarks-$SLUICE_ONLY
else
    traits=()
    if [[ -n ${SLUICE_TRAITS:-} ]]; then
        traits=(--traits "$SLUICE_TRAITS")
        # Otherwise the next build without the trait would compile all targets again.
        scratch=.build-benchmarks-$SLUICE_TRAITS
    fi
    swift build -c release --static-swift-stdlib --product sluice --scratch-path "$scratch" --disable-build-manifest-caching "${traits[@]}"
fi
swift build -c release --static-swift-stdlib --package-path Benchmarks --scratch-path "$scratch" --disable-build-manifest-caching
# With --require-all, a row that is missing from the catalog is an error, too.
[[ " $* " == *" --require-all "* ]] && set -- "$@" --expected Benchmarks/expected-rows.txt
exec "$scratch/release/Benchmarks" "$@"
