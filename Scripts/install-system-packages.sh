#!/usr/bin/env bash
# Installs the missing system packages on Debian, Ubuntu and Fedora. The Swift toolchain must already be installed. Needs root or sudo if a
# package is missing; otherwise does nothing.
#
#     Scripts/install-system-packages.sh             # for building, testing and all checks of CI
#     Scripts/install-system-packages.sh --build     # for building and testing
set -euo pipefail

# A file of the package, or several patterns with | between them, and the name of the package on Debian and on Fedora ("-": there is none).
build=(
    "/usr/bin/curl-config libcurl4-openssl-dev libcurl-devel"
    "/usr/include/sqlite3.h libsqlite3-dev sqlite-devel"
    "/usr/include/openssl/evp.h libssl-dev openssl-devel"
)
checks=(
    # For the package trait Cairo, which the checks' debug builds have, and for its tests.
    "/usr/include/pango-1.0/pango/pangocairo.h libpango1.0-dev pango-devel"
    # For the package trait GdkPixbuf, and for the WebP images of its tests.
    "/usr/include/gdk-pixbuf-2.0/gdk-pixbuf/gdk-pixbuf.h libgdk-pixbuf-2.0-dev gdk-pixbuf2-devel"
    "/usr/lib/*/gdk-pixbuf-2.0/2.10.0/loaders/libpixbufloader-webp.so|/usr/lib64/gdk-pixbuf-2.0/2.10.0/loaders/libpixbufloader-webp.so webp-pixbuf-loader webp-pixbuf-loader"
    "/usr/bin/pkg-config pkg-config pkgconf-pkg-config"
    "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf|/usr/share/fonts/dejavu-sans-mono-fonts fonts-dejavu-core dejavu-fonts-all"
    "/usr/share/fonts/truetype/dejavu/DejaVuSans-Oblique.ttf|/usr/share/fonts/dejavu-sans-fonts fonts-dejavu-extra dejavu-fonts-all"
    "/usr/bin/pdftotext poppler-utils poppler-utils"
    "/usr/bin/qpdf qpdf qpdf"
    # For the package trait PostgreSQL, which the checks' debug builds have.
    "/usr/include/postgresql/libpq-fe.h|/usr/include/libpq-fe.h libpq-dev libpq-devel"
    "/usr/lib/postgresql/*/bin/initdb|/usr/bin/initdb postgresql postgresql-server"
    "/usr/sbin/pgbouncer|/usr/bin/pgbouncer pgbouncer pgbouncer"
    "/usr/sbin/nginx nginx-light nginx"
    # apache2 would also start a server; the Fedora package has both.
    "/usr/sbin/apache2|/usr/sbin/httpd apache2-bin httpd"
    "/usr/sbin/lighttpd lighttpd lighttpd"
    "/usr/lib*/lighttpd/mod_deflate.so lighttpd-mod-deflate lighttpd-mod_deflate"
    "/usr/lib*/lighttpd/mod_openssl.so lighttpd-mod-openssl lighttpd-mod_openssl"
    "/usr/bin/caddy caddy caddy"
    "/usr/bin/rclone rclone rclone"
    "/usr/bin/openssl openssl openssl"
    "/usr/bin/tinyproxy tinyproxy-bin tinyproxy"
    "/usr/bin/microsocks microsocks -"
    "/usr/bin/curl curl curl"
    "/usr/bin/wget wget wget"
    "/usr/bin/wget2 wget2 wget2"
    "/usr/bin/aria2c aria2 aria2"
    "/usr/bin/python3 python3 python3"
    "/usr/bin/strace strace strace"
    "/usr/bin/dpkg-shlibdeps dpkg-dev -"
    "/usr/sbin/debootstrap debootstrap -"
    "/usr/bin/codespell codespell codespell"
    "/usr/bin/cmark cmark cmark"
    # A browser for the queue's page.
    "/usr/bin/chromium|/usr/bin/chromium-browser chromium chromium"
    # Peers of the benchmarks.
    "/usr/include/md4c-html.h libmd4c-html0-dev md4c-devel"
    "/usr/include/md4c.h libmd4c-dev md4c-devel"
    "/usr/bin/pulldown-cmark pulldown-cmark -"
    "/usr/bin/highlight highlight highlight"
    "/sbin/mkfs.ext4 e2fsprogs e2fsprogs"
    "/sbin/mkfs.xfs xfsprogs xfsprogs"
    "/sbin/mkfs.btrfs btrfs-progs btrfs-progs"
    "/sbin/mkfs.vfat dosfstools dosfstools"
)
case ${1:-} in
--build) needs=("${build[@]}") ;;
"") needs=("${build[@]}" "${checks[@]}") ;;
*) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac

# exists PATTERN|PATTERN…: returns whether a file matches.
exists() {
    local path
    for path in ${1//|/ }; do
        [ ! -e "$path" ] || return 0
    done
    return 1
}

debian=() fedora=()
for need in "${needs[@]}"; do
    read -r file on_debian on_fedora <<<"$need"
    exists "$file" || { debian+=("$on_debian"); [ "$on_fedora" = - ] || fedora+=("$on_fedora"); }
done
# pip fetches the examples of CommonMark.
if [ $# -eq 0 ] && ! python3 -m pip --version >/dev/null 2>&1; then
    debian+=(python3-pip)
    fedora+=(python3-pip)
fi
if [ ${#debian[@]} -eq 0 ]; then
    echo "nothing is missing"
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "Missing: ${debian[*]}. Run this as root." >&2; exit 1; }
    as_root=(sudo)
fi
if command -v apt-get >/dev/null; then
    echo "installing ${debian[*]}"
    "${as_root[@]}" apt-get update -q
    # The packages of nginx, lighttpd and Caddy would start servers on port 80, now and when the system starts. The tests start their own,
    # on free ports. This is Debian's switch against that; packages ask it before they start, stop or restart a service.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        trap '"${as_root[@]}" rm -f $policy' EXIT
        printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
        "${as_root[@]}" chmod +x $policy
    fi
    # </dev/null and the options of dpkg, so that nothing waits for an answer, for example about a changed configuration file.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "${debian[@]}" </dev/null
    if [ -d /run/systemd/system ]; then
        for service in "${debian[@]}"; do
            case $service in
            nginx-light) "${as_root[@]}" systemctl disable nginx ;;
            lighttpd | caddy) "${as_root[@]}" systemctl disable "$service" ;;
            esac
        done
    fi
elif command -v dnf >/dev/null; then
    echo "installing ${fedora[*]}"
    "${as_root[@]}" dnf install -y "${fedora[@]}"
else
    echo "This system has neither apt-get nor dnf. Install these with its package manager: ${debian[*]}" >&2
    exit 1
fi
