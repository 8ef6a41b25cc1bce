#!/usr/bin/env bash
# Races SluiceConcurrency on all processors, and checks each round: 10,000 rounds of each scenario, about a minute. Pass --help
# for the program's options.
#
#     Scripts/stress.sh
#     Scripts/stress.sh --filter limiter/ --rounds 2000000
#     Scripts/stress.sh --self-check             # are faults that are put in on purpose reported?
#
# From 10,000 rounds on, a scenario fails if only one side of its race ever won. It is built for release: races in a debug build
# are other races.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=${SLUICE_SCRATCH:-.build}
swift build -c release --scratch-path "$scratch" --product ConcurrencyStress --disable-build-manifest-caching >&2
program=$scratch/release/ConcurrencyStress
[[ ${1:-} == --self-check ]] || exec "$program" "$@"

for fault in "lost:elements are left" "doubled:waits ended" "oneway:only ever went one way" "hang:HANGS: fault/hang"; do
    said=$(SWIFT_BACKTRACE=enable=no "$program" --fault "${fault%%:*}" --rounds 20000 --stall 2 2>&1) && status=0 || status=$?
    if ((status == 0)) || ! grep -q "${fault#*:}" <<<"$said"; then
        printf '%s\nThis fault was put in on purpose and is not reported (%s): %s\n' "$said" "$status" "$fault"
        exit 1
    fi
done
echo "every fault that is put in on purpose is reported"
