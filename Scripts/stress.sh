#!/usr/bin/env bash
# Races SluiceConcurrency for minutes, and checks each round. Pass --help for what it takes.
#
#     Scripts/stress.sh --filter limiter/ --rounds 2000000
#
# Built for release and without the modules above, in a folder of its own: races in a debug build are other races.
set -euo pipefail
cd "$(dirname "$0")/.."
export SLUICE_ONLY=SluiceConcurrency
swift build -c release --scratch-path .build-stress --product ConcurrencyStress >&2
exec .build-stress/release/ConcurrencyStress "$@"
