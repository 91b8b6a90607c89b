#!/bin/sh
# GStreamer looks at all of its plugins once and keeps what it saw, and so does Windhover: in the image, so that no start
# has to. As root; the folder of the demo's clip is the service's own, and so is that of what is known of plugins.
set -eu
cd "$(dirname "$0")/.."
export WINDHOVER_CACHE_DIR="$PWD/.cache" GST_REGISTRY_1_0="$PWD/.cache/registry/plugins.bin"
unset GST_REGISTRY_UPDATE
install --directory .cache/registry .cache/clips
gst-inspect-1.0 fakesink > /dev/null
node cli/serve/registry-program.mjs > /dev/null
chown -R windhover:windhover .cache/registry .cache/clips
