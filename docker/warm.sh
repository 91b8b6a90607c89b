#!/bin/sh
# GStreamer looks at all of its plugins once and keeps what it saw, and so does Windhover: in the image, so that no start
# has to. As root; the folder stays the service's own, for the day a plugin is added.
set -eu
cd "$(dirname "$0")/.."
export WINDHOVER_CACHE_DIR="$PWD/.cache" GST_REGISTRY_1_0="$PWD/.cache/gstreamer-registry.bin"
gst-inspect-1.0 fakesink > /dev/null
install --directory --owner=windhover --group=windhover .cache/registry
node cli/serve/registry-program.mjs > /dev/null
chmod -R a+rX .
