#!/usr/bin/env bash
# Races SluiceConcurrency on all processors, and checks each round: 10,000 rounds of each scenario, about a minute. Pass --help
# for the program's options.
#
#     Scripts/stress.sh
#     Scripts/stress.sh --filter limiter/ --rounds 2000000
#     Scripts/stress.sh --self-check             # are faults that are put in on purpose reported?
#     Scripts/stress.sh --program .build/release/ConcurrencyStress …    # a program that is built already; the first option
#
# From 10,000 rounds on, a scenario fails if only one side of its race ever won.
#
# Without --program it builds for release and without the modules above, into a directory of its own: races in a debug build are
# other races.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} == --program ]]; then
    program=${2:?--program needs the path of a release build of ConcurrencyStress}
    shift 2
    [[ -x $program ]] || { echo "$program: there is no such program. Build it first."; exit 2; }
else
    program=.build-stress/release/ConcurrencyStress
    SLUICE_ONLY=SluiceConcurrency swift build -c release --scratch-path .build-stress --product ConcurrencyStress >&2
fi
[[ ${1:-} == --self-check ]] || exec "$program" "$@"

for fault in "lost:elements are left" "doubled:waits ended" "oneway:only ever went one way" "hang:HANGS: fault/hang"; do
    said=$(SWIFT_BACKTRACE=enable=no "$program" --fault "${fault%%:*}" --rounds 20000 --stall 2 2>&1) && status=0 || status=$?
    if ((status == 0)) || ! grep -q "${fault#*:}" <<<"$said"; then
        printf '%s\nThis fault was put in on purpose and is not reported (%s): %s\n' "$said" "$status" "$fault"
        exit 1
    fi
done
echo "every fault that is put in on purpose is reported"
