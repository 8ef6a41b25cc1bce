#!/usr/bin/env bash
# Builds and runs the examples, each a package of its own: all, or those that are named (Scripts/run-examples.sh Localized). They
# share the root's build folder, so that what both need is built once; EXAMPLES_SCRATCH is another folder.
set -euo pipefail
cd "$(dirname "$0")/.."
(($#)) || set -- $(cd Examples && echo */)
for example; do
    echo "--- Examples/${example%/}"
    swift run --package-path "Examples/${example%/}" --scratch-path "${EXAMPLES_SCRATCH:-.build}"
done
