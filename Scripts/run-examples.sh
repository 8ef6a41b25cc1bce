#!/usr/bin/env bash
# Builds and runs the examples, each a package of its own. They share the root's build folder, so that what both need is
# built once.
set -euo pipefail
cd "$(dirname "$0")/.."
for example in Examples/*/; do
    echo "--- $example"
    swift run --package-path "$example" --scratch-path .build
done
