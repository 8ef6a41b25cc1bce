#!/usr/bin/env bash
# Installs the Python packages that the rows cache/ of the benchmarks compare Sluice with, into .build/benchmark-peers. Does nothing if they
# are there. Needs python3 (Scripts/install-system-packages.sh) and the network.
#
#     Scripts/install-benchmark-peers.sh
set -euo pipefail
cd "$(dirname "$0")/.."
peers=.build/benchmark-peers
packages=(diskcache==5.6.3 hishel==2.0.0 httpx==0.28.1)
if [[ -f $peers/packages && $(<"$peers/packages") == "${packages[*]}" ]]; then
    echo "nothing is missing"
    exit 0
fi
rm -rf "$peers"
# Some systems have no ensurepip; pip can install into another directory without it.
mkdir -p "$peers"
python3 -m pip install --quiet --root-user-action ignore --disable-pip-version-check --target "$peers/python" "${packages[@]}"
echo "${packages[*]}" >"$peers/packages"
