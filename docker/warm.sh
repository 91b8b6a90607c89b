#!/bin/sh
# Caches the plugin registries of GStreamer and Windhover in the image, so that no start has to scan plugins. They belong
# to root: if the service could write them, it could name a library that the next start loads. The service may only write
# the folder of the demo's clip.
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
