#!/bin/sh
# Makes everything that can be made before it runs: the addon, the bundles, the console and the models. In the first stage
# of the image, or in any Debian 12 with Node; leaves a checkout that needs no compiler and nothing from outside any more.
set -eu
cd "$(dirname "$0")/.."
export WINDHOVER_CACHE_DIR="$PWD/.cache"
# Layers keep times in whole seconds, and a bundle knows its sources by size and time.
find . -path ./node_modules -prune -o -exec touch --no-dereference --date="@$(date +%s)" {} +
node setup/setup.mjs
npm prune --omit=dev --no-audit --no-fund
rm -rf build/obj build/tests build/asan
# Here and not in the last stage: there every file would be in two layers.
chmod -R a+rX .
