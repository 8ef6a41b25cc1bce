#!/usr/bin/env bash
# Proves that the test suites of the modules cause no sanitizer reports.
#
#     Scripts/checks/sanitizers.sh thread SluiceConcurrency
#     Scripts/checks/sanitizers.sh thread SluiceConcurrency SluiceFiles SluiceDownloads --explorers
#     Scripts/checks/sanitizers.sh thread SluiceConcurrency --filter AsyncQueue     # only the suites of that name
#     Scripts/checks/sanitizers.sh address SluiceFiles SluiceHTTP
#
# - Each module is built with SLUICE_ONLY, because there is less to instrument without the modules above it. The builds are in
#   .build-thread and .build-address.
# - thread: SLUICE_PTHREAD_LOCK bases `Lock` on a pthread mutex, which the sanitizer knows. The sanitizer doesn't see the futex in
#   `Synchronization.Mutex`, and would report everything that the lock protects.
# - thread: no race is suppressed. False reports are below, with their reasons.
# - thread: the explorers of interleavings are skipped, because they use one thread. --explorers runs them, which takes four minutes.
# - address: 'Faults of every call' is skipped, because it spends minutes on repeating the memory operations of the other suites. Also
#   skipped are tests that explore pure values, two tests of very large trees, and tests that measure a process's memory or address space.
# - address: leaks in other libraries are below, with their reasons.
#
# At the end, the script proves that the sanitizer works: it must report an inserted fault that is built with the same flags.
set -euo pipefail
cd "$(dirname "$0")/../.."
sanitizer=${1:-} modules=() filter=() explorers='nterleaving|state machine' explore=""
usage() { sed -n '2,19p' Scripts/checks/sanitizers.sh; exit 2; }
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

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
suppressions=$logs/suppressions
scratch=.build-$sanitizer products=.build-$sanitizer/debug
case $sanitizer in
thread)
    flags=(-Xswiftc -DSLUICE_PTHREAD_LOCK)
    # A report makes the program exit with 66, even if all its tests pass. A test of mapped files handles SIGBUS.
    export TSAN_OPTIONS="halt_on_error=0 exitcode=66 handle_sigbus=0 second_deadlock_stack=1 suppressions=$suppressions ${TSAN_OPTIONS:-}"
    report='WARNING: ThreadSanitizer'
    cat >"$suppressions" <<'END'
# False reports of ThreadSanitizer, each matched as narrowly as possible, with its reason.

# `Array(deque)` of an empty Deque, for example in AsyncQueue.snapshot: the standard library writes "0 elements" to the one empty array that
# the whole process shares (_swiftEmptyArrayStorage), which has that value already. This matches only the writes of that initializer
# (race_top), and not the writes of its closure.
race_top:ContiguousArrayV27unsafeUninitializedCapacity

# A snapshot of a queue is a copy of its buffer, taken under the lock and read after the lock is released (FIFOBuffer.items,
# PriorityBuffer.items). The reader releases its reference to the shared storage. The queue changes the storage in place once it has the
# only reference. The Swift runtime orders the two with atomics, which the sanitizer doesn't see. This matches only reports that contain
# that read.
race:P5itemsSay4ItemQzGvgTW

# A continuation that is resumed on another thread before its task has suspended. The task then continues without a switch, and the runtime
# doesn't tell the sanitizer about that order. The report is between the read of the continuation's context in
# `UnsafeContinuation.resume(returning:)` and the part of `withUnsafeContinuation` after the suspension. A program with nothing but the
# standard library shows it: four tasks that each wait 100,000 times for a continuation that a dispatch queue resumes.
race_top:ss22withUnsafeContinuation9isolation_xScA_pSgYi_ySccyxs5NeverOGXEtYalFTY0_
END
    ;;
address)
    flags=()
    # A report makes the program exit with 67. A test of mapped files expects SIGBUS.
    export ASAN_OPTIONS="exitcode=67 handle_sigbus=0 ${ASAN_OPTIONS:-}"
    export LSAN_OPTIONS="suppressions=$suppressions print_suppressions=0 ${LSAN_OPTIONS:-}"
    report='ERROR: (Address|Leak)Sanitizer'
    cat >"$suppressions" <<'END'
# Leaks in other libraries, each with its reason. First those in the tests of SluiceFiles.

# Foundation's Data(contentsOf:), which the tests use: for an empty file, it leaks its 4 KiB buffer.
leak:FoundationEssentials17readBytesFromFile

# Leaks in the tests of SluiceHTTP.

# Foundation's Process keeps the side table of a weak reference.
leak:Foundation7ProcessC3run
# Not a leak: Data tags the pointers that it stores, and the sanitizer doesn't recognize them in a global variable.
leak:SluiceHTTPTests5Nginx*4file

# Not leaks: NativeMark's enums with payloads tag the pointers that they store, and the sanitizer doesn't recognize them in the global and
# static variables of the module and its tests. `_WZ` is the function that initializes one.
leak:NativeMark*_WZ
END
    ;;
*) usage ;;
esac

# Runs a program. Fails if the program fails, or if its output contains a report.
check() {
    local status=0 log
    log=$(mktemp "$logs/XXXXXX")
    timeout -k 5 1800 "$@" >"$log" 2>&1 || status=$?
    if grep -Eq "$report" "$log" || ((status != 0)); then
        cat "$log"
        # Again without the tests that passed, so that the end of a long log shows the failures.
        echo "failed under the $sanitizer sanitizer ($status): $*"
        grep -vE '^. (Test|Suite) .*(started|passed after [0-9.]+ seconds)\.$|^. Test case passing ' "$log" | head -n 80
        return 1
    fi
    grep . "$log" | tail -n 1
}

# An inserted fault must end the program with a report that matches.
must_report() {
    local wanted=$1 said
    shift
    if said=$(check "$@"); then
        echo "An inserted fault was not reported: the $sanitizer sanitizer does not work. ($*)"
        exit 1
    fi
    grep -Eq "$wanted" <<<"$said" || { printf '%s\n' "$said"; exit 1; }
}

thread_SluiceConcurrency() {
    # Serially: the races are within a test.
    check "${suite[@]}" --no-parallel --skip "$explorers"
    check "$products/ConcurrencyStress" --rounds 200 --stall 120
    [[ -z $explore ]] || check "${suite[@]}" --no-parallel --filter "$explorers"
    must_report 'WARNING: ThreadSanitizer: (data|Swift access) race' "$products/ConcurrencyStress" --fault race --rounds 256
    echo "no races; an inserted one is reported"
}

address_SluiceFiles() {
    local left_out='Faults of every call|a limit of address space is an error|a file that claims 128 TiB takes as much memory'
    left_out+='|every short text|random texts|a line may have as many bytes|in every order of events|over random events'
    left_out+='|twenty thousand directories deep|fifty thousand entries'
    SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4 check "${suite[@]}" --skip "$left_out"
    # The first lines of the report name the code that uses the memory.
    must_report '#[0-2] .*useAfterFree' "$products/FileWorker" fault swift
    must_report '#[0-2] .*/CSluiceFiles/.*\.c' "$products/FileWorker" fault c
    echo "no memory errors; two inserted ones are reported"
}

# All suites of the transport; and the handles and descriptors of libcurl after 10,000 requests, alone in the process. URLSession isn't
# tested: for each request, swift-corelibs-foundation frees a parsed URL without its parts (CFURLSessionCurlHostIsEqual). This leak can't be
# suppressed, because Debian's libcurl has no frame pointers, and the slow unwinder takes too long.
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
