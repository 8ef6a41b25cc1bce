#!/usr/bin/env bash
# Packages a release build of `sluice` for the Debian release on which it was built, with completions and the man page.
#
#     swift build -c release --product sluice --static-swift-stdlib
#     Scripts/package-deb.sh                  # writes .build/deb/sluice_VERSION_ARCHITECTURE.deb (`make deb` does both)
#     Scripts/package-deb.sh --try            # also installs it in a new Debian system without Swift, and runs the demo there (root)
#
# SLUICE_SCRATCH names the build directory, `.build` by default. Needs dpkg-dev, and debootstrap for --try.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in "" | --try) ;; *) sed -n '2,8p' "$0" >&2; exit 2 ;; esac

scratch=${SLUICE_SCRATCH:-.build}
program=$scratch/release/sluice
[[ -x $program ]] || { echo "$program is missing. Build it first; see the head of this script." >&2; exit 1; }
for tool in dpkg-shlibdeps dpkg-deb; do
    command -v "$tool" >/dev/null || { echo "$tool is missing. Install dpkg-dev." >&2; exit 1; }
done
if readelf -d "$program" | grep -q 'NEEDED.*libswift'; then
    echo "$program needs the shared libraries of Swift. Build it with --static-swift-stdlib." >&2
    exit 1
fi

. /etc/os-release
version=$("$program" --version)
architecture=$(dpkg --print-architecture)
out=$scratch/deb
root=$out/root
rm -rf "$root"
install -d "$root/DEBIAN" "$root/usr/share/bash-completion/completions" "$root/usr/share/zsh/vendor-completions" \
    "$root/usr/share/fish/vendor_completions.d" "$root/usr/share/man/man1" "$root/usr/share/doc/sluice"
install -D -s -m 755 "$program" "$root/usr/bin/sluice"
"$program" --generate-completion-script bash >"$root/usr/share/bash-completion/completions/sluice"
"$program" --generate-completion-script zsh >"$root/usr/share/zsh/vendor-completions/_sluice"
"$program" --generate-completion-script fish >"$root/usr/share/fish/vendor_completions.d/sluice.fish"
gzip -9nc docs/sluice.1 >"$root/usr/share/man/man1/sluice.1.gz"
gzip -9nc CHANGELOG.md >"$root/usr/share/doc/sluice/changelog.gz"
install -m 644 LICENSE "$root/usr/share/doc/sluice/copyright"
install -m 644 docs/cli.md "$root/usr/share/doc/sluice/cli.md"

# dpkg-shlibdeps reads a source package's control file, and finds the packages of the libraries and their minimum versions.
install -d "$out/debian"
printf 'Source: sluice\n\nPackage: sluice\nArchitecture: any\n' >"$out/debian/control"
depends=$(cd "$out" && dpkg-shlibdeps -O root/usr/bin/sluice 2>/dev/null | sed 's/^shlibs:Depends=//')
cat >"$root/DEBIAN/control" <<END
Package: sluice
Version: $version~$ID$VERSION_ID
Architecture: $architecture
Maintainer: The Sluice authors <sluice@example.org>
Installed-Size: $(du -sk "$root" | cut -f1)
Depends: $depends
Recommends: ca-certificates
Section: net
Priority: optional
Description: downloader that resumes, checks and queues
 Downloads many files concurrently, resumes them after an interruption, and
 keeps a queue that several programs share. Also renders Markdown in a
 terminal.
END
package=$out/sluice_$version~$ID${VERSION_ID}_$architecture.deb
rm -f "$out"/*.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
[[ ${1:-} == --try ]] || exit 0

system=$(mktemp -d)
trap 'rm -rf --one-file-system "$system"' EXIT
debootstrap --variant=minbase "$VERSION_CODENAME" "$system" >"$out/debootstrap.log" 2>&1 || { tail -5 "$out/debootstrap.log" >&2; exit 1; }
cp "$package" "$system/tmp/"
cp /etc/resolv.conf "$system/etc/resolv.conf"
# In a separate mount namespace, so that /proc is unmounted when it ends. Swift reads a program's arguments from /proc.
unshare --mount bash -euo pipefail -c '
    mount -t proc proc "$1/proc"
    env -u TMPDIR chroot "$1" sh -euc "
        export DEBIAN_FRONTEND=noninteractive
        apt-get install -y --no-install-recommends /tmp/*.deb >/tmp/apt.log 2>&1 || { tail -20 /tmp/apt.log; exit 1; }
        if command -v swift; then exit 1; fi
        sluice demo --progress none
        test \"\$(sluice --version)\" = \"$2\"
        test -s /usr/share/bash-completion/completions/sluice
        apt-get remove -y sluice >/dev/null 2>&1
        test ! -e /usr/bin/sluice"' _ "$system" "$version"
echo "The package was installed in Debian $VERSION_ID without Swift, ran its demo, and was removed."
