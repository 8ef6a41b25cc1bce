# The steps of a check: sourced by Scripts/check.sh, Scripts/check-thoroughly.sh and .ci/run.
#
#     most_minutes=40
#     step "tests" 10 swift test      # a name, a limit in minutes, and a command or a function
#
# A step that fails or exceeds its limit ends the script; with `keep_going` it is only recorded. All steps together may take `most_minutes`,
# and `step_if_time` leaves a step out that might not end before.
# A table of the minutes is always printed.
set -euo pipefail

# The same in all builds, because a change would compile our modules again.
export SLUICE_WARNINGS_AS_ERRORS=1
# SwiftPM passes the traits to the compiler in the order of a set. With random hashes, every other command would compile everything again.
export SWIFT_DETERMINISTIC_HASHING=1
# All builds share this directory, with debug/ and release/ in it. A step with a different package graph uses a separate one.
export SLUICE_SCRATCH=${SLUICE_SCRATCH:-.build}

# For a command on a different package than the last one built into this directory. SwiftPM would reuse that package's build plan.
export other_package=--disable-build-manifest-caching

# What a step wants to say in the table.
export SLUICE_REMARKS
SLUICE_REMARKS=$(mktemp)

steps_began=$SECONDS
steps_table=""
steps_failed=()
step_running=""

step() {
    local name=$1 limit=$(($2 * 60)) from=$SECONDS status=0 left
    shift 2
    left=$((most_minutes * 60 - (SECONDS - steps_began)))
    printf '\n=== %s: %s\n' "$name" "$*"
    if ((left <= 0)); then
        steps_table+=$(printf '   -  min  %s: NOT RUN, the limit of %d minutes is reached' "$name" "$most_minutes")$'\n'
        steps_failed+=("$name")
        exit 1
    fi
    # `timeout` runs commands only, so a function is exported to a new bash.
    if declare -F "$1" >/dev/null; then
        export -f $(declare -F | cut -d' ' -f3)
        set -- bash -euo pipefail -c '"$@"' "$1" "$@"
    fi
    # In the background, so that a signal to this script ends the step as well.
    timeout --kill-after=20 "$((limit < left ? limit : left))" "$@" &
    step_running=$!
    wait "$step_running" || status=$?
    step_running=""
    local took=$((SECONDS - from)) ending=""
    case $status in
    0) ;;
    124 | 137) ending=": FAILED, stopped after $took s (its limit is $((limit / 60)) min, that of all steps $most_minutes min)" ;;
    *) ending=": FAILED with $status" ;;
    esac
    steps_table+=$(printf '%4d.%d min  %s%s' $((took / 60)) $((took % 60 * 10 / 60)) "$name" "$ending")$'\n'
    printf -- '--- %s: %d s%s\n' "$name" "$took" "$ending"
    if ((status)); then
        steps_failed+=("$name")
        [[ -n ${keep_going:-} ]] || exit 1
    fi
}

# A step that is left out on a machine so slow that it might not end in time. The table says so, and `left_out` isn't empty.
step_if_time() {
    local took=$((SECONDS - steps_began))
    if ((took + $2 * 60 > most_minutes * 60)); then
        steps_table+=$(printf '   -  min  %s: NOT RUN, because %d minutes have passed' "$1" $((took / 60)))$'\n'
        printf '\n=== %s: not run, because %d minutes have passed\n' "$1" $((took / 60))
        left_out=1
        return
    fi
    left_out=""
    step "$@"
}

print_steps() {
    local status=$? took=$((SECONDS - steps_began))
    printf '\n%s%4d.%d min in all\n' "$steps_table" $((took / 60)) $((took % 60 * 10 / 60))
    cat "$SLUICE_REMARKS"
    rm -f "$SLUICE_REMARKS"
    if ((${#steps_failed[@]})); then
        printf 'FAILED: %s\n' "$(IFS=,; echo "${steps_failed[*]}")"
        status=1
    fi
    exit "$status"
}
trap print_steps EXIT
trap '[[ -z $step_running ]] || kill -TERM "$step_running"; exit 130' INT TERM HUP

# Steps that more than one of the scripts runs.

format() { git ls-files -z '*.swift' | xargs -0 swift format lint --strict; }

# It must fail on misspelled words.
spelling() {
    git ls-files -z | xargs -0 codespell -D - -D Scripts/checks/spelling.txt
    if echo "te""h whoso""ever" | codespell -D - -D Scripts/checks/spelling.txt - >/dev/null; then
        echo "codespell finds nothing" >&2
        return 1
    fi
}

generated() {
    Scripts/generate/text-tables.py --check
    Scripts/generate/manual.py --check
    Scripts/generate/terminal-images.py --check
    Scripts/generate/drawn-images.py --check
    Scripts/generate/benchmark-images.py --check
}
