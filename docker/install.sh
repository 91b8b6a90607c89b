#!/bin/sh
# Installs the runtime packages and creates the user of the service. Runs in the last stage of the image, as root.
set -eu
cd "$(dirname "$0")/.."
node docker/install-packages.mjs
apt-get clean
rm -rf /var/lib/apt/lists/*
groupadd --gid 10001 windhover
useradd --uid 10001 --gid windhover --no-create-home --home-dir /var/lib/windhover --shell /usr/sbin/nologin windhover
install --directory --owner=windhover --group=windhover --mode=0700 /var/lib/windhover
