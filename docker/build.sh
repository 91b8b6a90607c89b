#!/bin/sh
# Builds everything in advance: the addon, the bundles, the console and the models. Runs in the first stage of the image,
# or in any Debian 12 with Node. The resulting checkout needs neither a compiler nor downloads.
set -eu
cd "$(dirname "$0")/.."
export WINDHOVER_CACHE_DIR="$PWD/.cache"
# Layers store times in whole seconds, and a bundle identifies its sources by size and time.
find . -path ./node_modules -prune -o -exec touch --no-dereference --date="@$(date +%s)" {} +
node setup/setup.mjs
# Conversions for every CPU: the cache of the image is read-only. The default model is required; others are left out when
# they cannot be downloaded.
node cli/windhover.mjs models get default --every-cpu
node cli/windhover.mjs models get --every-cpu || echo "the image lacks optional models or conversions of them" >&2
# npm rewrites an unchanged lock file: restore its time.
locked=$(stat --format=@%Y package-lock.json)
npm prune --omit=dev --ignore-scripts --no-audit --no-fund
touch --date="$locked" package-lock.json
rm -rf build/obj build/tests build/asan
# onnxruntime-node contains binaries for all platforms: remove 200 MB of the others.
find node_modules/onnxruntime-node/bin -mindepth 3 -maxdepth 3 ! -path "*/linux/$(node --print process.arch)" \
  -exec rm -rf {} +
# Not in the last stage, where it would duplicate every file in a second layer.
chmod -R a+rX .
