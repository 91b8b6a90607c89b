#!/bin/sh
# Makes everything that can be made before it runs: the addon, the bundles, the console and the models. In the first stage
# of the image, or in any Debian 12 with Node; leaves a checkout that needs no compiler and nothing from outside any more.
set -eu
cd "$(dirname "$0")/.."
export WINDHOVER_CACHE_DIR="$PWD/.cache"
node setup/setup.mjs
npm prune --omit=dev --no-audit --no-fund
rm -rf build/obj build/tests build/asan
