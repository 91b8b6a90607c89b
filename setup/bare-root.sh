#!/usr/bin/env bash
# Runs tests in a bare Debian of this or another architecture; see --help.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
Runs tests in a bare Debian 12 of a given architecture, without a container engine:

  setup/bare-root.sh amd64|arm64 FOLDER [PATH…]

FOLDER becomes the root: Debian from debootstrap (minbase), Node 20 and npm from their npm packages. The script copies the
files that git tracks to /opt/windhover in it, runs the set-up there with an empty environment, then the tests in PATH….
Without PATH it stops after the set-up. An existing root is reused: only changed files are copied.

  setup/bare-root.sh arm64 /var/tmp/root-arm64 test/golden models native elements
  setup/bare-root.sh amd64 /var/tmp/root-amd64 --all        the whole suite, like `npm test`
  setup/bare-root.sh arm64 /var/tmp/root-arm64 -- uname -m  any command in the checkout

A foreign architecture is emulated by qemu-user-static, ten to thirty times slower. QEMU_CPU selects
the processor (`qemu-aarch64-static -cpu help` lists them; default neoverse-n1 and Haswell), and WINDHOVER_TEST_PATIENCE,
by default 12, multiplies the time limits of set-up, tests, engine and inference.

Requires root, debootstrap, npm, git, about 4 GB, and for a foreign architecture qemu-user-static 10 or later from
bookworm-backports: with version 7.2 of Debian 12, Node crashes while a worker thread runs a model.
TEXT
}
fail() { echo "bare-root.sh: $*" >&2; exit 1; }

case ${1:-} in
  --help) usage; exit ;;
  amd64) node_arch=x64 machine=x86_64 processor=Haswell ;;
  arm64) node_arch=arm64 machine=aarch64 processor=neoverse-n1 ;;
  *) usage >&2; exit 2 ;;
esac
arch=$1
[[ ${2:-} ]] || { usage >&2; exit 2; }
root=$(realpath --canonicalize-missing "$2")
shift 2
((EUID == 0)) || fail "must run as root: it creates a root folder and runs chroot"
for program in debootstrap unshare chroot git npm; do
  command -v "$program" > /dev/null || fail "$program is missing; install it and run this again"
done

# The kernel runs programs of a foreign architecture with qemu once the format is registered.
if [[ $(uname -m) != "$machine" ]]; then
  formats=/proc/sys/fs/binfmt_misc
  [[ -e $formats/register ]] || mount --types binfmt_misc binfmt_misc "$formats"
  if [[ ! -e $formats/qemu-$machine ]]; then
    format=/usr/lib/binfmt.d/qemu-$machine.conf
    [[ -e $format ]] || fail "cannot run $arch programs on this machine: install qemu-user-static 10 or later and run this again"
    cat "$format" > "$formats/register"
  fi
  : "${WINDHOVER_TEST_PATIENCE:=12}" "${QEMU_CPU:=$processor}"
fi

variables=(HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
for name in QEMU_CPU WINDHOVER_TEST_PATIENCE WINDHOVER_TEST_ONCE UPDATE_GOLDEN http_proxy https_proxy no_proxy; do
  [[ ! ${!name:-} ]] || variables+=("$name=${!name}")
done
certificates=/etc/ssl/certs/ca-certificates.crt
[[ ! -e $certificates ]] || variables+=(NODE_EXTRA_CA_CERTS=/opt/certificates.crt npm_config_cafile=/opt/certificates.crt)

# Mounts and processes are in separate namespaces and end with the command.
inside() {
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount --make-rprivate /
    mount --types proc proc "$1/proc"
    mount --types sysfs --options ro sysfs "$1/sys"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" /usr/bin/env --ignore-environment --chdir=/opt/windhover "${@:2}"
  ' inside "$root" "${variables[@]}" "$@" < /dev/null
}

# Unpacks a package of the npm registry: PACKAGE FOLDER.
unpack() {
  local packed
  packed=$(cd "$root/var/tmp" && npm pack --silent "$1")
  mkdir --parents "$2"
  tar --extract --gzip --strip-components=1 --directory "$2" --file "$root/var/tmp/$packed"
  rm "$root/var/tmp/$packed"
}

if [[ ! -e $root/usr/local/bin/npm ]]; then
  [[ ! -e $root ]] || fail "$root exists and is not a complete root of this script: remove it and run this again"
  echo "=== Debian 12 $arch"
  debootstrap --variant=minbase --arch="$arch" bookworm "$root" > "${root}.log" || fail "$(tail "${root}.log")"
  rm "${root}.log"
  echo "=== Node 20"
  unpack "node-linux-$node_arch@20" "$root/usr/local"
  unpack npm@10 "$root/usr/local/lib/node_modules/npm"
  for name in npx npm; do ln --symbolic "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"; done
fi
cp --dereference /etc/resolv.conf /etc/hosts "$root/etc/"
[[ ! -e $certificates ]] || cp --dereference "$certificates" "$root/opt/certificates.crt"

echo "=== checkout"
checkout=$root/opt/windhover tracked=$root/opt/windhover.files
mkdir --parents "$checkout"
git ls-files > "$tracked.new"
# Removes files that are no longer tracked: an old test would still run.
if [[ -e $tracked ]]; then
  grep --invert-match --line-regexp --fixed-strings --file="$tracked.new" "$tracked" | (cd "$checkout" && xargs --delimiter='\n' rm --force) || true
fi
tar --create --files-from="$tracked.new" | tar --extract --directory "$checkout"
mv "$tracked.new" "$tracked"
# The time limits of engine and inference are for real processors.
if [[ ${WINDHOVER_TEST_PATIENCE:-} ]]; then
  (cd "$checkout" && sed --in-place --regexp-extended "s/(Ms: |LOAD_LIMIT_MS = )([0-9_]+)([,;])/\\1\\2 * $WINDHOVER_TEST_PATIENCE\\3/" \
    graphs/runtime/limits.ts elements/detect/limits.ts
  sed --in-place --regexp-extended "/limitMs: Type.Integer/,/\\}\\)/s/default: ([0-9_]+)/default: \\1 * $WINDHOVER_TEST_PATIENCE/" elements/detect/detect.ts)
fi
echo "=== set-up: $(inside uname -m), Node $(inside node --version)"
inside node setup/setup.mjs --tests
(($# > 0)) || exit 0
case $1 in
  --) shift; inside "$@" ;;
  --all) inside npm test ;;
  *) inside node setup/test.mjs "$@" ;;
esac
