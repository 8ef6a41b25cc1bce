#!/usr/bin/env bash
# Proves that the download queue and the cache survive full disks. The disks hold a queue's file, the targets, a cache's directory, or a
# PostgreSQL server's tables or log.
#
#     swift build --build-tests --traits PostgreSQL,Cairo,GdkPixbuf
#     Scripts/checks/full-disks.sh
#     Scripts/checks/full-disks.sh --require       # anything that is skipped is an error
#
# The disks are small file systems in memory. They are in a separate mount namespace (unshare -m, as root) and end with it.
set -euo pipefail
cd "$(dirname "$0")/../.."
self=Scripts/checks/full-disks.sh build=${SLUICE_SCRATCH:-.build}/debug
case ${1:-} in
'' | --require) ;;
*) sed -n '2,9p' "$self"; exit 2 ;;
esac
if [[ ! -x $build/sluicePackageTests.xctest ]]; then
    echo "$build/sluicePackageTests.xctest is missing. Run \`swift build --build-tests --traits PostgreSQL,Cairo,GdkPixbuf\`, or name the directory of" \
        "another build in SLUICE_SCRATCH."
    exit 1
fi
if [[ -z ${SLUICE_DISKS:-} ]]; then
    if [[ $(id -u) != 0 ]] || ! unshare -m true 2>/dev/null; then
        echo "skipped: mounting needs root and unshare(1) of the package util-linux"
        [[ ${1:-} != --require ]]
        exit
    fi
    SLUICE_DISKS=$(mktemp -d)
    export SLUICE_DISKS
    trap 'rm -rf "$SLUICE_DISKS"' EXIT
    unshare -m --propagation private "$self" "$@"
    exit
fi

# disk NAME SIZE
disk() {
    mkdir "$SLUICE_DISKS/$1"
    mount -t tmpfs -o "size=$2" tmpfs "$SLUICE_DISKS/$1"
}
disk queue 16m
disk cache 4m
disk tables 96m
disk log 48m
chmod 755 "$SLUICE_DISKS"
export SLUICE_FULL_DISK=$SLUICE_DISKS/queue SLUICE_FULL_CACHE_DISK=$SLUICE_DISKS/cache
export SLUICE_MORTAL_DATA=$SLUICE_DISKS/tables SLUICE_MORTAL_WAL=$SLUICE_DISKS/log
[[ ${1:-} != --require ]] || export SLUICE_REQUIRE_SERVERS=1
status=0
timeout -k 20 300 Scripts/checks/postgres.sh "$build/sluicePackageTests.xctest" --testing-library swift-testing --filter 'A full disk' \
    >"$SLUICE_DISKS/output" 2>&1 || status=$?
last=$(tail -1 "$SLUICE_DISKS/output")
echo "full disks: $last"
if ((status)) || [[ ! $last =~ 'Test run with '[1-9].*' passed' ]]; then
    grep -a 'recorded an issue\|error:\|Fatal' "$SLUICE_DISKS/output" | head -20
    exit 1
fi
# Without the trait or the servers, the tests of PostgreSQL are skipped.
if [[ ${1:-} == --require ]] && grep -qa 'skipped' "$SLUICE_DISKS/output"; then
    grep -a 'skipped' "$SLUICE_DISKS/output"
    exit 1
fi
