#!/usr/bin/env bash
# Run this before each commit: the checks that need only the debug build. They take under five minutes once it is built.
cd "$(dirname "$0")/.."
most_minutes=60
source Scripts/checks/steps.sh

step "format"           3 format
step "layers"           2 Scripts/checks/layers.py
step "spelling"         2 spelling
step "links"            2 Scripts/checks/links.py
# As in .ci/run, whose debug builds have the traits.
export SLUICE_TRAITS=PostgreSQL,Cairo,GdkPixbuf
step "debug build"     40 swift build --build-tests
step "tests"           12 Scripts/checks/postgres.sh swift test
step "system calls"     4 Scripts/checks/system-calls.py
step "generated files"  3 generated
step "commonmark"       3 Scripts/checks/commonmark.py
step "apple code"       3 Scripts/checks/apple.py --self-check
step "snippets"         5 Scripts/checks/snippets.py
step "documentation"    2 Scripts/checks/documentation.py
