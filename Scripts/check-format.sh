#!/usr/bin/env bash
# Fails if a Swift file is not formatted as .swift-format says. `swift format -i -r Sources Tests Package.swift` repairs most.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.swift' | xargs -0 swift format lint --strict
