#!/usr/bin/env bash
# Repeats CI's checks with more rounds, more file systems and other seeds, after a clean build. Takes hours and needs all system packages.
# Runs every step even if one fails, and prints a table at the end.
#
#     Scripts/check-thoroughly.sh
#     Scripts/check-thoroughly.sh stress mutations     # only these steps, with the existing build
cd "$(dirname "$0")/.."
most_minutes=600
keep_going=yes
only=("$@")
known=$(sed -n 's/^part "\([^"]*\)".*/\1/p' Scripts/check-thoroughly.sh | tr ' ' '-')
for name in "${only[@]}"; do
    if ! grep -qx -- "$name" <<<"$known"; then
        echo "There is no step $name. The steps are: $(paste -sd' ' <<<"$known")" >&2
        exit 2
    fi
done
source Scripts/checks/steps.sh
export SLUICE_SCRATCH=.build-thorough

part() {
    ((${#only[@]} == 0)) || [[ " ${only[*]} " == *" ${1// /-} "* ]] || return 0
    step "$@"
}

cold_build() {
    rm -rf "$SLUICE_SCRATCH"
    swift build --build-tests --traits PostgreSQL,Cairo,GdkPixbuf --scratch-path "$SLUICE_SCRATCH"
}

# The last three rounds run with a load on each processor.
tests_ten_times() {
    loads=()
    # Not local, because the trap kills them when the process of this step exits, however it exits.
    trap '((${#loads[@]} == 0)) || kill "${loads[@]}"' EXIT
    for round in {1..10}; do
        if ((round == 8)); then
            for _ in $(seq "$(nproc)"); do
                bash -c 'while :; do :; done' &
                loads+=($!)
            done
        fi
        echo "round $round, with ${#loads[@]} busy processes"
        SLUICE_MODEL_STEPS=10000 Scripts/checks/postgres.sh swift test --traits PostgreSQL,Cairo,GdkPixbuf --scratch-path "$SLUICE_SCRATCH"
    done
}

# Optimized, because it runs every interleaving of every program of three operations.
explore_everything() {
    export SLUICE_ONLY=SluiceConcurrency SLUICE_EXPLORE=all
    swift build -c release --build-tests -Xswiftc -enable-testing --scratch-path .build-explore
    .build-explore/release/sluicePackageTests.xctest --testing-library swift-testing --filter "Every interleaving of the limiter"
}

# Each test kills 200 workers of a queue, or 450 of a cache.
kills() {
    SLUICE_KILLS=200 SLUICE_CACHE_ROUNDS=50 Scripts/checks/postgres.sh "$SLUICE_SCRATCH/debug/sluicePackageTests.xctest" --testing-library swift-testing \
        --filter 'Eight processes'
}

flips() {
    SLUICE_FLIPS=all "$SLUICE_SCRATCH/debug/sluicePackageTests.xctest" --testing-library swift-testing --filter 'One flipped bit on disk'
}

mutations() {
    Scripts/mutate.py --check
    Scripts/mutate.py --sample 20 --seed "$today"
}

export today=$(date +%Y%m%d)

part "packages"             15 Scripts/install-system-packages.sh
part "cold build"           60 cold_build
part "tests"               120 tests_ten_times
part "explorers"           120 explore_everything
part "file systems"         60 Scripts/checks/file-systems.sh --require --lacking vfat --all-tests
part "full disks"           10 Scripts/checks/full-disks.sh --require
part "partition"            10 Scripts/checks/partition.py --require
part "kills"                60 kills
part "flips"                60 flips
part "markdown fuzz"        60 Scripts/checks/markdown-fuzz.py --seed "$today" --count 500000
part "fuzz"                 60 Scripts/checks/fuzz.py --seed "$today" --seconds 180
part "address sanitizer"    60 Scripts/checks/sanitizers.sh address SluiceFiles SluiceHTTP NativeMark
part "thread sanitizer"     60 Scripts/checks/sanitizers.sh thread SluiceConcurrency SluiceFiles SluiceDownloads SluiceService --explorers
part "release build"        60 swift build -c release --static-swift-stdlib --scratch-path "$SLUICE_SCRATCH"
part "stress"               60 Scripts/stress.sh --rounds 200000
part "benchmark peers"       5 Scripts/run-benchmarks.sh --install-peers
part "benchmarks"           60 Scripts/run-benchmarks.sh --require-all
part "mutations"           120 mutations
