#!/usr/bin/env bash
# Runs the suites of modules under a sanitizer, and fails on any report.
#
#     Scripts/checks/sanitizers.sh thread SluiceConcurrency
#     Scripts/checks/sanitizers.sh thread SluiceConcurrency SluiceFiles SluiceDownloads --explorers
#     Scripts/checks/sanitizers.sh thread SluiceConcurrency --filter AsyncQueue     # the suites of that name alone
#     Scripts/checks/sanitizers.sh address SluiceFiles SluiceHTTP
#
# - It builds each module with SLUICE_ONLY: without the modules above it there is less to instrument. The builds are in .build-thread
#   and .build-address.
# - thread: SLUICE_PTHREAD_LOCK puts `Lock` on a pthread mutex, which the sanitizer knows. It doesn't see the futex below
#   `Synchronization.Mutex`, and would report everything that the lock protects.
# - thread: no race is suppressed. A report that is no race is in Scripts/checks/thread-sanitizer.supp, with its reason.
# - thread: the explorers of interleavings use one thread. --explorers runs them too, which takes four minutes.
# - address: 'Faults of every call' is left out, because it repeats for minutes what the other suites do with memory once. So are tests
#   that explore pure values, two of very large trees, and those of how much memory or address space a process takes.
# - address: leaks that aren't ours are in Scripts/checks/address-sanitizer.supp, with their reasons.
#
# Whether the sanitizer would find anything is checked last: a fault put in on purpose, built with the same flags, must be reported.
set -euo pipefail
cd "$(dirname "$0")/../.."
sanitizer=${1:-} modules=() filter=() explorers='nterleaving|state machine' explore=""
usage() { sed -n '2,20p' Scripts/checks/sanitizers.sh; exit 2; }
(($#)) && shift
while (($#)); do
    case $1 in
    --explorers) explore=yes; shift ;;
    --filter) filter=(--filter "${2:?--filter needs a name}"); shift 2 ;;
    -*) usage ;;
    *) modules+=("$1"); shift ;;
    esac
done
((${#modules[@]})) || usage

scratch=.build-$sanitizer products=.build-$sanitizer/debug
case $sanitizer in
thread)
    flags=(-Xswiftc -DSLUICE_PTHREAD_LOCK)
    # A report fails the program that it is about (66), also when all its tests pass. SIGBUS is left to a test of mapped files.
    export TSAN_OPTIONS="halt_on_error=0 exitcode=66 handle_sigbus=0 second_deadlock_stack=1 suppressions=$PWD/Scripts/checks/thread-sanitizer.supp ${TSAN_OPTIONS:-}"
    report='WARNING: ThreadSanitizer'
    ;;
address)
    flags=()
    # A report ends the program that it is about with 67. SIGBUS is left to a test of mapped files, which expects that signal.
    export ASAN_OPTIONS="exitcode=67 handle_sigbus=0 ${ASAN_OPTIONS:-}"
    export LSAN_OPTIONS="suppressions=$PWD/Scripts/checks/address-sanitizer.supp print_suppressions=0 ${LSAN_OPTIONS:-}"
    report='ERROR: (Address|Leak)Sanitizer'
    ;;
*) usage ;;
esac

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Runs a program; fails if it does, or if a report is in its output.
check() {
    local status=0 log
    log=$(mktemp "$logs/XXXXXX")
    timeout -k 5 1800 "$@" >"$log" 2>&1 || status=$?
    if grep -Eq "$report" "$log" || ((status != 0)); then
        cat "$log"
        # Once more without the tests that passed: the end of a long log must tell what failed.
        echo "failed under the $sanitizer sanitizer ($status): $*"
        grep -vE '^. (Test|Suite) .*(started|passed after [0-9.]+ seconds)\.$|^. Test case passing ' "$log" | head -n 80
        return 1
    fi
    grep . "$log" | tail -n 1
}

# A fault put in on purpose must end the program with a report that matches.
must_report() {
    local wanted=$1 said
    shift
    if said=$(check "$@"); then
        echo "A fault put in on purpose was not reported: the $sanitizer sanitizer does not work. ($*)"
        exit 1
    fi
    grep -Eq "$wanted" <<<"$said" || { printf '%s\n' "$said"; exit 1; }
}

thread_SluiceConcurrency() {
    # One test after the other: what races does so within a test.
    check "${suite[@]}" --no-parallel --skip "$explorers"
    check "$products/ConcurrencyStress" --rounds 200 --stall 120
    [[ -z $explore ]] || check "${suite[@]}" --no-parallel --filter "$explorers"
    must_report 'WARNING: ThreadSanitizer: (data|Swift access) race' "$products/ConcurrencyStress" --fault race --rounds 256
    echo "no races; one put in on purpose is reported"
}

address_SluiceFiles() {
    local left_out='Faults of every call|a limit of address space is an error|a file that claims 128 TiB takes as much memory'
    left_out+='|every short text|random texts|a line may have as many bytes|in every order of events|over random events'
    left_out+='|twenty thousand folders deep|fifty thousand entries'
    SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4 check "${suite[@]}" --skip "$left_out"
    # The first lines of the report name the code that uses the memory.
    must_report '#[0-2] .*useAfterFree' "$products/FileWorker" fault swift
    must_report '#[0-2] .*/CSluiceFiles/.*\.c' "$products/FileWorker" fault c
    echo "no misused memory; two faults put in on purpose are reported"
}

# libcurl's handles and descriptors after 10,000 requests, alone in the process; and all suites of the transport, but not with
# URLSession: swift-corelibs-foundation frees a parsed URL without its parts, at each request (CFURLSessionCurlHostIsEqual). That can't
# be suppressed, because Debian's libcurl has no frame pointers, and the slow way up the stack takes too long.
address_SluiceHTTP() {
    local -x SLUICE_TESTED_TRANSPORT=libcurl
    check "${suite[@]}" --skip LeftoverTests
    SLUICE_REQUESTS=10000 check "${suite[@]}" --filter LeftoverTests
}

for module in "${modules[@]}"; do
    SLUICE_ONLY=$module swift build --build-tests --sanitize="$sanitizer" "${flags[@]}" --scratch-path "$scratch"
    suite=("$products/sluicePackageTests.xctest" --testing-library swift-testing)
    if ((${#filter[@]})); then
        check "${suite[@]}" --no-parallel "${filter[@]}"
    elif declare -F "${sanitizer}_$module" >/dev/null; then
        "${sanitizer}_$module"
    else
        check "${suite[@]}" --filter "${module}Tests"
    fi
done
