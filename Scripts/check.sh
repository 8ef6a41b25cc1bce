#!/usr/bin/env bash
# What to run before each commit: the checks that need no more than the debug build. Under five minutes once that is built.
cd "$(dirname "$0")/.."
most_minutes=60
source Scripts/checks/steps.sh

step "format"           3 format
step "layers"           2 Scripts/checks/layers.py
step "debug build"     40 swift build --build-tests
step "tests"           12 swift test
step "system calls"     4 Scripts/checks/system-calls.py
step "generated files"  3 generated
step "commonmark"       3 Scripts/checks/commonmark.py
step "apple code"       3 Scripts/checks/apple.py --self-check
step "snippets"         5 Scripts/checks/snippets.py
step "documentation"    2 Scripts/checks/documentation.py
