#!/bin/sh
# Makes everything that can be made before it runs: the addon, the bundles, the console and the models. In the first stage
# of the image, or in any Debian 12 with Node; leaves a checkout that needs no compiler and nothing from outside any more.
set -eu
cd "$(dirname "$0")/.."
export WINDHOVER_CACHE_DIR="$PWD/.cache"
# Layers keep times in whole seconds, and a bundle knows its sources by size and time.
find . -path ./node_modules -prune -o -exec touch --no-dereference --date="@$(date +%s)" {} +
node setup/setup.mjs
# The image may run on another CPU than this one, where nobody may write into its cache. A model that could not be had is
# not in the image; the default one must be.
node cli/windhover.mjs models get default --every-cpu
node cli/windhover.mjs models get --every-cpu || echo "the image lacks models, or conversions of them" >&2
# It writes the lock file as it was, at another time.
locked=$(stat --format=@%Y package-lock.json)
npm prune --omit=dev --ignore-scripts --no-audit --no-fund
touch --date="$locked" package-lock.json
rm -rf build/obj build/tests build/asan
# The library for inference comes for all systems; two hundred megabytes are for others.
find node_modules/onnxruntime-node/bin -mindepth 3 -maxdepth 3 ! -path "*/linux/$(node --print process.arch)" \
  -exec rm -rf {} +
# Here and not in the last stage: there every file would be in two layers.
chmod -R a+rX .
