#!/usr/bin/env bash
# Runs the tests of SluiceFiles on file systems and kernels that differ: overlayfs, ext4, xfs, btrfs and tmpfs where they can be
# mounted, small ones that fill up, and with system calls denied as the sandbox of a container denies them.
#
#     Scripts/test-file-systems.sh                          # builds first
#     Scripts/test-file-systems.sh --build .build/debug     # with the programs that were built there
#     Scripts/test-file-systems.sh --only denied            # one of: suite, whole, denied
#
# Mounts are made in a mount namespace of their own (unshare -m, as root) and go with it. What cannot be mounted here is said
# to be skipped. Ends with 1 if any test fails.
set -uo pipefail
cd "$(dirname "$0")/.."
build='' only=''
while (($#)); do
    case $1 in
    --build) build=$2; shift 2 ;;
    --only) only=$2; shift 2 ;;
    --mounted) shift; break ;;
    *) sed -n '2,11p' "$0"; exit 2 ;;
    esac
done
if [[ -z $build ]]; then
    export SLUICE_ONLY=SluiceFiles
    swift build --build-tests || exit 1
    build=.build/debug
fi

if [[ -z ${SLUICE_MOUNTS:-} ]]; then
    SLUICE_MOUNTS=$(mktemp -d)
    export SLUICE_MOUNTS
    trap 'rm -rf "$SLUICE_MOUNTS"' EXIT
    if [[ $(id -u) == 0 ]] && unshare -m true 2>/dev/null; then
        unshare -m --propagation private "$0" --build "$build" ${only:+--only "$only"}
    else
        echo "skipped: nothing can be mounted here (no root, or no unshare)"
        "$0" --build "$build" ${only:+--only "$only"}
    fi
    exit
fi

failed=0
mounted=() small=()

# try NAME LIST mount-arguments...: mounts on $SLUICE_MOUNTS/NAME and adds it to a list.
try() {
    local name=$1 list=$2 said
    shift 2
    mkdir -p "$SLUICE_MOUNTS/$name"
    if said=$(mount "$@" "$SLUICE_MOUNTS/$name" 2>&1); then
        declare -n into=$list
        into+=("$name=$SLUICE_MOUNTS/$name")
    else
        echo "skipped: $name cannot be mounted: ${said##*: }"
    fi
}

# image NAME LIST SIZE mkfs-command...: makes a file system in a file and mounts that.
image() {
    local name=$1 list=$2 size=$3
    shift 3
    if ! command -v "$1" >/dev/null; then
        echo "skipped: $name needs $1"
        return
    fi
    truncate -s "$size" "$SLUICE_MOUNTS/$name.image"
    "$@" "$SLUICE_MOUNTS/$name.image" >/dev/null 2>&1 || { echo "skipped: $1 failed"; return; }
    try "$name" "$list" -o loop "$SLUICE_MOUNTS/$name.image"
}

if [[ $(id -u) == 0 ]]; then
    # The layers of an overlay are on a file system of their own: one overlay cannot be another's upper layer.
    mkdir -p "$SLUICE_MOUNTS/layers"
    mount -t tmpfs tmpfs "$SLUICE_MOUNTS/layers" 2>/dev/null
    mkdir -p "$SLUICE_MOUNTS"/layers/{lower,upper,work}
    try overlayfs mounted -t overlay overlay \
        -o "lowerdir=$SLUICE_MOUNTS/layers/lower,upperdir=$SLUICE_MOUNTS/layers/upper,workdir=$SLUICE_MOUNTS/layers/work"
    try tmpfs-4m small -t tmpfs -o size=4m tmpfs
    image ext4 mounted 256M mkfs.ext4 -q -b 4096 -I 256  # extended attributes have one block
    image ext4-16m small 16M mkfs.ext4 -q
    image xfs mounted 400M mkfs.xfs -q
    image btrfs mounted 256M mkfs.btrfs -q
    image vfat mounted 64M mkfs.vfat
fi
export SLUICE_FILE_SYSTEMS SLUICE_SMALL_FILE_SYSTEMS
SLUICE_FILE_SYSTEMS=$(IFS=:; echo "${mounted[*]}")
SLUICE_SMALL_FILE_SYSTEMS=$(IFS=:; echo "${small[*]}")

# run NAME FILTER [program before the tests...]
run() {
    local name=$1 filter=$2 status
    shift 2
    timeout -s KILL 600 "$@" "$build/sluicePackageTests.xctest" --testing-library swift-testing --no-parallel --filter "$filter" \
        >"$SLUICE_MOUNTS/log" 2>&1
    status=$?
    printf '%s: %s\n' "$name" "$(tail -1 "$SLUICE_MOUNTS/log")"
    if ((status)); then
        failed=1
        grep -a 'recorded an issue\|error:' "$SLUICE_MOUNTS/log" | head -20
    fi
}

if [[ -z $only || $only == suite ]]; then
    echo "file systems: temporary files, tmpfs ${mounted[*]%%=*} ${small[*]%%=*}"
    run 'every file system' 'Every file system|A full file system|Files that lie|Copies on every file system'
fi

if [[ -z $only || $only == whole ]]; then
    for entry in "${mounted[@]}"; do
        # Where there are neither links nor modes, much of what is tested is not there either.
        [[ ${entry%%=*} == vfat ]] && continue
        TMPDIR=${entry#*=} run "all tests on ${entry%%=*}" SluiceFilesTests
    done
fi

if [[ -z $only || $only == denied ]]; then
    modern=io_uring_setup,preadv2,pwritev2,copy_file_range,renameat2,statx,openat2,inotify_init1
    for error in EPERM ENOSYS; do
        if said=$("$build/CallDenial" "$error" "$modern" /bin/true 2>&1); then
            SLUICE_DENIED=$error run "all tests, $error for $modern" SluiceFilesTests "$build/CallDenial" "$error" "$modern"
        else
            echo "skipped: calls cannot be denied here: $said"
        fi
    done
fi
exit $failed
