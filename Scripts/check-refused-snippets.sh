#!/bin/sh
# Compiles the snippets of Tests/RefusedSnippets/<module>/ against that module and checks that each is refused for the
# reason that its first line names ("// refused: <part of the diagnostic>"), or accepted ("// accepted").
#
#     Scripts/check-refused-snippets.sh [SluiceFiles …]        SCRATCH=.build by default
#
# The snippets are compiled as far as SIL: ownership ("used after consume") is checked after the types are.
set -eu
cd "$(dirname "$0")/.."
scratch=${SCRATCH:-.build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- $(ls Tests/RefusedSnippets)

failures=0
checked=0
for module in "$@"; do
    SLUICE_ONLY=$module swift build --scratch-path "$scratch" --target "$module" >"$work/build" 2>&1 || {
        cat "$work/build"
        exit 1
    }
    products=$scratch/debug
    for snippet in Tests/RefusedSnippets/"$module"/*.swift; do
        wanted=$(sed -n '1s|^// refused: ||p' "$snippet")
        {
            echo "import FoundationEssentials"
            echo "import $module"
            sed 1d "$snippet"
        } >"$work/snippet.swift"
        set +e
        # shellcheck disable=SC2046 # one option per C module
        swiftc -emit-sil -o /dev/null -swift-version 6 -enable-upcoming-feature NonisolatedNonsendingByDefault \
            -I "$products/Modules" \
            $(for map in "$products"/*.build/module.modulemap; do
                [ -f "$map" ] && printf -- '-Xcc -fmodule-map-file=%s ' "$map"
            done) \
            "$work/snippet.swift" >"$work/output" 2>&1
        status=$?
        set -e
        checked=$((checked + 1))
        if [ -z "$wanted" ]; then
            [ "$status" -eq 0 ] && continue
            echo "$snippet: should compile"
        elif [ "$status" -ne 0 ] && grep -F "error:" "$work/output" | grep -qF -- "$wanted"; then
            continue
        elif [ "$status" -eq 0 ]; then
            echo "$snippet: compiles, and should be refused: $wanted"
        else
            echo "$snippet: refused, but not because of: $wanted"
        fi
        cat "$work/output"
        failures=$((failures + 1))
    done
done
echo "$checked snippets, $failures wrong"
[ "$failures" -eq 0 ]
