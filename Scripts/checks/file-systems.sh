#!/usr/bin/env bash
# Proves that SluiceFiles works on different file systems: overlayfs, ext4, xfs, btrfs, vfat and tmpfs if they can be mounted, and small
# ones that fill up. Also runs its tests with some system calls denied, as in a container's sandbox.
#
#     swift build --build-tests
#     Scripts/checks/file-systems.sh
#     Scripts/checks/file-systems.sh --only denied            # one of: suite, whole, denied
#     Scripts/checks/file-systems.sh --all-tests              # also long tests that need no particular file system
#     Scripts/checks/file-systems.sh --require                # anything that is skipped is an error
#     Scripts/checks/file-systems.sh --require --lacking vfat # except file systems that this kernel lacks
#
# The mounts are in a separate mount namespace (unshare -m, as root) and end with it. The script names each file system that it can't mount
# and skips. Exits with 1 if a test fails, or with --require if anything was skipped.
set -uo pipefail
cd "$(dirname "$0")/../.."
self=Scripts/checks/file-systems.sh build=${SLUICE_SCRATCH:-.build}/debug
only='' required='' lacking='' all_tests=''
arguments=("$@")
while (($#)); do
    case $1 in
    --only) only=$2; shift 2 ;;
    --require) required=yes; shift ;;
    --lacking) lacking=$2; shift 2 ;;
    --all-tests) all_tests=yes; shift ;;
    *) sed -n '2,13p' "$self"; exit 2 ;;
    esac
done
case $only in
'' | suite | whole | denied) ;;
*) echo "--only takes suite, whole or denied, not '$only'."; exit 2 ;;
esac
failed=0

# skip WHAT WHY: reports what isn't tested. With --require, that is an error.
skip() {
    if [[ -n $required ]]; then
        echo "not tested, and --require was passed: $1: $2"
        failed=1
    else
        echo "skipped: $1: $2"
    fi
}

if [[ -z ${SLUICE_MOUNTS:-} ]]; then
    if [[ ! -x $build/sluicePackageTests.xctest ]]; then
        echo "$build/sluicePackageTests.xctest is missing. Run \`swift build --build-tests\`, or name the directory of another build in SLUICE_SCRATCH."
        exit 1
    fi
    SLUICE_MOUNTS=$(mktemp -d)
    # Some tests become another user, who must be able to reach the file systems.
    chmod 711 "$SLUICE_MOUNTS"
    export SLUICE_MOUNTS
    trap 'rm -rf "$SLUICE_MOUNTS"' EXIT
    if [[ $(id -u) == 0 ]] && unshare -m true 2>/dev/null; then
        unshare -m --propagation private "$self" "${arguments[@]}"
    else
        [[ $only == denied ]] || skip "all mounted file systems" "mounting needs root and unshare(1) of the package util-linux"
        "$self" "${arguments[@]}" || failed=1
        exit $failed
    fi
    exit
fi

mounted=() small=()

# try NAME TYPE LIST mount-arguments...: mounts on $SLUICE_MOUNTS/NAME and adds it to a list.
try() {
    local name=$1 type=$2 list=$3 said
    shift 3
    mkdir -p "$SLUICE_MOUNTS/$name"
    if said=$(mount -t "$type" "$@" "$SLUICE_MOUNTS/$name" 2>&1); then
        declare -n into=$list
        into+=("$name=$SLUICE_MOUNTS/$name")
    elif ! grep -qw "$type" /proc/filesystems && [[ ,$lacking, == *,$type,* ]]; then
        echo "not tested: this kernel has no $type"
    else
        said=${said%%$'\n'*}
        skip "$name" "it cannot be mounted: ${said##*: }"
    fi
}

# image NAME TYPE LIST PACKAGE SIZE mkfs-arguments...: creates a file system in a file and mounts it.
image() {
    local name=$1 type=$2 list=$3 package=$4 size=$5
    shift 5
    if ! command -v "mkfs.$type" >/dev/null; then
        skip "$name" "mkfs.$type is missing; install the package $package"
        return
    fi
    truncate -s "$size" "$SLUICE_MOUNTS/$name.image"
    "mkfs.$type" "$@" "$SLUICE_MOUNTS/$name.image" >/dev/null 2>&1 || { skip "$name" "mkfs.$type failed"; return; }
    try "$name" "$type" "$list" -o loop "$SLUICE_MOUNTS/$name.image"
}

if [[ $(id -u) == 0 && $only != denied ]]; then
    # The layers need a separate file system, because an overlay can't be the upper layer of another overlay.
    mkdir -p "$SLUICE_MOUNTS/layers"
    mount -t tmpfs tmpfs "$SLUICE_MOUNTS/layers" 2>/dev/null
    mkdir -p "$SLUICE_MOUNTS"/layers/{lower,upper,work}
    try overlayfs overlay mounted overlay \
        -o "lowerdir=$SLUICE_MOUNTS/layers/lower,upperdir=$SLUICE_MOUNTS/layers/upper,workdir=$SLUICE_MOUNTS/layers/work"
    try tmpfs-4m tmpfs small -o size=4m tmpfs
    image ext4 ext4 mounted e2fsprogs 256M -q -b 4096 -I 256  # extended attributes have one block
    image ext4-16m ext4 small e2fsprogs 16M -q
    image xfs xfs mounted xfsprogs 400M -q
    image btrfs btrfs mounted btrfs-progs 256M -q
    image vfat vfat mounted dosfstools 64M
fi
export SLUICE_FILE_SYSTEMS SLUICE_SMALL_FILE_SYSTEMS
SLUICE_FILE_SYSTEMS=$(IFS=:; echo "${mounted[*]}")
SLUICE_SMALL_FILE_SYSTEMS=$(IFS=:; echo "${small[*]}")

# 'Faults of every call' works in memory, and the walk of a very large tree is the same on every file system.
left_out=(--skip 'Faults of every call|twenty thousand directories deep|fifty thousand entries')
[[ -n $all_tests ]] && left_out=()
# With more concurrent tests, hundreds of engines exist at the same time and slow each other down.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4

# run NAME FILTER [program before the tests...]
run() {
    local name=$1 filter=$2 status last
    shift 2
    timeout -s KILL 600 "$@" "$build/sluicePackageTests.xctest" --testing-library swift-testing --filter "$filter" \
        "${left_out[@]}" >"$SLUICE_MOUNTS/log" 2>&1
    status=$?
    last=$(tail -1 "$SLUICE_MOUNTS/log")
    printf '%s: %s\n' "$name" "$last"
    if ((status)) || [[ ! $last =~ 'Test run with '[1-9].*' passed' ]]; then
        failed=1
        grep -a 'recorded an issue\|error:' "$SLUICE_MOUNTS/log" | head -20
        echo "failed ($status): $name"
    fi
}

if [[ -z $only || $only == suite ]]; then
    echo "file systems: temporary files, tmpfs ${mounted[*]%%=*} ${small[*]%%=*}"
    run 'every file system' 'Every file system|A full file system|Files that lie|Copies on every file system'
fi

if [[ -z $only || $only == whole ]]; then
    for entry in "${mounted[@]}"; do
        # vfat has neither links nor modes, which many tests need.
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
            skip "system calls that are denied with $error" "$said"
        fi
    done
fi
exit $failed
