#!/usr/bin/env bash
# Builds everything as it ships, and fails on any warning of our own code.
set -euo pipefail
cd "$(dirname "$0")/.."
SLUICE_WARNINGS_AS_ERRORS=1 swift build -c release
