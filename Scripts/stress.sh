#!/usr/bin/env bash
# Proves that SluiceConcurrency survives races on all processors: 10,000 checked rounds of each scenario, about a minute. Pass --help for the
# options of the program.
#
#     Scripts/stress.sh
#     Scripts/stress.sh --filter limiter/ --rounds 2000000
#     Scripts/stress.sh --self-check             # proves that inserted faults are reported
#
# With 10,000 rounds or more, a scenario also fails if the same side wins every race. The program is a release build, because a debug build
# has different races.
set -euo pipefail
cd "$(dirname "$0")/.."
# Built alone, in its own directory: if it were linked statically, as the other release builds are, the program would get no arguments
# (Swift 6.3).
scratch=.build-stress
SLUICE_ONLY=SluiceConcurrency swift build -c release --scratch-path "$scratch" --product ConcurrencyStress >&2
program=$scratch/release/ConcurrencyStress
[[ ${1:-} == --self-check ]] || exec "$program" "$@"

for fault in "lost:elements are left" "doubled:waits ended" "oneway:only ever went one way" "hang:HANGS: fault/hang"; do
    said=$(SWIFT_BACKTRACE=enable=no "$program" --fault "${fault%%:*}" --rounds 20000 --stall 2 2>&1) && status=0 || status=$?
    if ((status == 0)) || ! grep -q "${fault#*:}" <<<"$said"; then
        printf '%s\nThis inserted fault is not reported (%s): %s\n' "$said" "$status" "$fault"
        exit 1
    fi
done
echo "every inserted fault is reported"
