#!/usr/bin/env bash
# Installs what the checks need beside the Swift toolchain, on Debian and Ubuntu, where it is missing. Needs root, or sudo.
set -euo pipefail

# A file that tells that a package is there, and the package.
needs=(
    /usr/bin/curl-config:libcurl4-openssl-dev
    /usr/include/sqlite3.h:libsqlite3-dev
    /usr/include/openssl/evp.h:libssl-dev
    /usr/sbin/nginx:nginx-light
    /usr/bin/curl:curl
    /usr/bin/python3:python3
    /usr/bin/strace:strace
    /usr/bin/cmark:cmark
    /sbin/mkfs.ext4:e2fsprogs
    /sbin/mkfs.xfs:xfsprogs
    /sbin/mkfs.btrfs:btrfs-progs
    /sbin/mkfs.vfat:dosfstools
)
missing=()
for need in "${needs[@]}"; do
    [ -e "${need%%:*}" ] || missing+=("${need##*:}")
done
# Fetches the examples of CommonMark.
python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
if [ ${#missing[@]} -eq 0 ]; then
    echo "nothing is missing"
    exit 0
fi
echo "missing: ${missing[*]}"
if ! command -v apt-get >/dev/null; then
    echo "Install them with this system's package manager (Fedora: libcurl-devel sqlite-devel openssl-devel nginx curl python3 strace cmark e2fsprogs xfsprogs btrfs-progs dosfstools python3-pip), then run this again." >&2
    exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
# The package would start a server of its own on port 80; the tests start theirs on a free one.
"${as_root[@]}" env RUNLEVEL=1 apt-get install -y -q --no-install-recommends "${missing[@]}"
