#!/usr/bin/env bash
# The README's test command, in two halves.
#
# The tests of files make and remove some hundred thousand files with every fault put in, the others have servers and clients
# that wait for each other for seconds at most. On two processors the one half keeps the other waiting too long.
set -euo pipefail
cd "$(dirname "$0")/.."
swift test --skip '^SluiceFilesTests\.'
swift test --filter '^SluiceFilesTests\.'
