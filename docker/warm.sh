#!/bin/sh
# GStreamer scans its plugins once and keeps the result, and so does Windhover: in the image, so that no start has to. As
# root, and what was found stays root's: the service could otherwise name a library there that the next start loads. Only
# the folder of the demo's clip is the service's own.
set -eu
cd "$(dirname "$0")/.."
export WINDHOVER_CACHE_DIR="$PWD/.cache" GST_REGISTRY_1_0="$PWD/.cache/registry/plugins.bin"
unset GST_REGISTRY_UPDATE
install --directory .cache/registry .cache/clips
gst-inspect-1.0 fakesink > /dev/null
node cli/serve/registry-program.mjs > /dev/null
chown -R root:root .cache/registry
chmod -R u=rwX,go=rX .cache/registry
chown -R windhover:windhover .cache/clips
