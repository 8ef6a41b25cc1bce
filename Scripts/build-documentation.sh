#!/usr/bin/env bash
# Builds the documentation of every library and fails on a warning, such as a link that leads nowhere.
#
#     Scripts/build-documentation.sh                the archives land in .build/documentation
#     Scripts/build-documentation.sh SluiceFiles    only these
set -euo pipefail
cd "$(dirname "$0")/.."
modules=("$@")
[ ${#modules[@]} -gt 0 ] || modules=(SluiceConcurrency SluiceFiles SluiceHTTP SluiceCache SluiceDownloads NativeMark)
mkdir -p .build/documentation
for module in "${modules[@]}"; do
    SLUICE_DOCS=1 swift package --allow-writing-to-directory .build/documentation generate-documentation \
        --target "$module" --output-path ".build/documentation/$module.doccarchive" --warnings-as-errors
done
