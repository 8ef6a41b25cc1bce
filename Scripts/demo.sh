#!/usr/bin/env bash
# Runs the demo as the README does, and sees that it notices a corrupt byte.
set -euo pipefail
cd "$(dirname "$0")/.."
swift run -c release sluice demo
status=0
swift run -c release sluice demo --progress none --corrupt 1 || status=$?
if [ "$status" -ne 9 ]; then
    echo "sluice demo ended with $status instead of 9 although a byte was wrong" >&2
    exit 1
fi
