#!/usr/bin/env bash
# Runs SluiceConcurrency's suite and a short stress run under ThreadSanitizer, and fails on any report.
#
#     Scripts/test-thread-sanitizer.sh
#     Scripts/test-thread-sanitizer.sh --explorers              # also the explorers of the state machines: minutes
#     Scripts/test-thread-sanitizer.sh --filter AsyncQueue      # the suites of that name; the stress run is left out
#
# - SLUICE_ONLY leaves one module: no TLS library and no HTTP client to instrument.
# - SLUICE_PTHREAD_LOCK builds SluiceLock on pthread's lock, which the sanitizer knows. It does not see the futex below
#   `Synchronization.Mutex`, and would report everything that the lock protects.
# - The explorers and the tests of state machines call pure values on one thread: there is no race to find in them, and the
#   sanitizer makes them ten times slower. They run with --explorers only.
# - No race is suppressed. What is reported and is none stands, with its reason, in Scripts/thread-sanitizer.supp.
#
# Whether it would find anything is checked last: a race put in on purpose, built with the same flags, must be reported.
set -euo pipefail
cd "$(dirname "$0")/.."
export SLUICE_ONLY=SluiceConcurrency
# Reports fail the program that they are about (66), also when all its tests pass.
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 second_deadlock_stack=1 suppressions=$PWD/Scripts/thread-sanitizer.supp ${TSAN_OPTIONS:-}"

if grep -rn 'Mutex[<(]' Tests/SluiceConcurrencyTests Tests/Stress Tests/TestSupport; then
    echo "Tests take Guarded from TestSupport: the sanitizer reports what a Synchronization.Mutex protects."
    exit 1
fi
products=.build-tsan/debug
swift build --build-tests --sanitize=thread -Xswiftc -DSLUICE_PTHREAD_LOCK --scratch-path .build-tsan
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Runs a program; fails if it does, or if a report is in its output.
check() {
    local status=0 log
    log=$(mktemp "$logs/XXXXXX")
    timeout -k 5 900 "$@" >"$log" 2>&1 || status=$?
    if grep -q 'WARNING: ThreadSanitizer' "$log" || ((status != 0)); then
        cat "$log"
        # Once more without the tests that passed: whoever sees only the end of a long log must see what failed.
        echo "failed under ThreadSanitizer ($status): $*"
        grep -vE '^. (Test|Suite) .*(started|passed after [0-9.]+ seconds)\.$|^. Test case passing ' "$log" | head -n 80
        return 1
    fi
    grep . "$log" | tail -n 1
}

# One test after the other: what races does so within a test.
suite=("$products/sluicePackageTests.xctest" --testing-library swift-testing --no-parallel)
explorers='InterleavingTests|StateMachineTests|state machine'
with_explorers=""
if [[ ${1:-} == --explorers ]]; then
    with_explorers=yes
    shift
fi
if (($# > 0)); then
    check "${suite[@]}" "$@"
    exit
fi
exploring=""
if [[ -n $with_explorers ]]; then
    # Beside the others, in a process of their own: they would hold up tests that have a time limit.
    check "${suite[@]}" --filter "$explorers" &
    exploring=$!
fi
failed=""
check "${suite[@]}" --skip "$explorers" || failed=yes
check "$products/ConcurrencyStress" --rounds 200 --stall 120 || failed=yes
if [[ -n $exploring ]]; then
    wait "$exploring" || failed=yes
fi
[[ -n $failed ]] && exit 1

# `if`, because this one has to fail.
if said=$(check "$products/ConcurrencyStress" --fault race --rounds 256); then
    echo "A race put in on purpose was not reported: the sanitizer does not work."
    exit 1
fi
grep -Eq 'WARNING: ThreadSanitizer: (data|Swift access) race' <<<"$said" || { printf '%s\n' "$said"; exit 1; }
echo "no races; one put in on purpose is reported"
