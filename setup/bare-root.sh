#!/usr/bin/env bash
# Tests on a bare Debian of this or another architecture; --help says how.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
Runs tests in a bare Debian 12 of a given architecture, without a container engine:

  setup/bare-root.sh amd64|arm64 FOLDER [PATH…]

FOLDER becomes the root: Debian from debootstrap (minbase), Node 20 and npm from their npm packages. The files that git
tracks are copied to /opt/windhover in it, set up there with an empty environment, and the tests in PATH… are run. Without
PATH it stops after the set-up. A root that is there already is used again: only changed files are copied.

  setup/bare-root.sh arm64 /var/tmp/root-arm64 test/golden models native elements
  setup/bare-root.sh amd64 /var/tmp/root-amd64 --all        the whole suite, as `npm test` runs it
  setup/bare-root.sh arm64 /var/tmp/root-arm64 -- uname -m  any command in the checkout

Another architecture than this machine's is emulated by qemu-user-static, ten to thirty times slower. QEMU_CPU chooses
the processor (`qemu-aarch64-static -cpu help` lists them; default neoverse-n1 and Haswell), and WINDHOVER_TEST_PATIENCE,
12 unless set, multiplies the time limits of tests, engine and inference.

Needs root, debootstrap, npm, git, about 4 GB, and for another architecture qemu-user-static 10 or later, which is in
bookworm-backports: under 7.2 of Debian 12 Node crashes while a worker thread runs a model.
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
((EUID == 0)) || fail "must be root: it makes a root and changes into it"
for program in debootstrap unshare chroot git npm; do
  command -v "$program" > /dev/null || fail "$program is missing; install it and run this again"
done

# The kernel hands programs of another architecture to qemu once the format is registered.
if [[ $(uname -m) != "$machine" ]]; then
  formats=/proc/sys/fs/binfmt_misc
  [[ -e $formats/register ]] || mount --types binfmt_misc binfmt_misc "$formats"
  if [[ ! -e $formats/qemu-$machine ]]; then
    format=/usr/lib/binfmt.d/qemu-$machine.conf
    [[ -e $format ]] || fail "cannot run $arch programs here: install qemu-user-static 10 or later and run this again"
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

# Mounts and processes are in namespaces of their own and end with the command.
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

# From the npm registry: PACKAGE FOLDER.
unpack() {
  local packed
  packed=$(cd "$root/var/tmp" && npm pack --silent "$1")
  mkdir --parents "$2"
  tar --extract --gzip --strip-components=1 --directory "$2" --file "$root/var/tmp/$packed"
  rm "$root/var/tmp/$packed"
}

if [[ ! -e $root/usr/local/bin/npm ]]; then
  [[ ! -e $root ]] || fail "$root is there and is not a root that this script has finished: remove it and run this again"
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
# What is not tracked any more goes: an old test would still be run.
if [[ -e $tracked ]]; then
  grep --invert-match --line-regexp --fixed-strings --file="$tracked.new" "$tracked" | (cd "$checkout" && xargs --delimiter='\n' rm --force) || true
fi
tar --create --files-from="$tracked.new" | tar --extract --directory "$checkout"
mv "$tracked.new" "$tracked"
# The limits of the engine and of inference are for real processors.
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
  *) inside node --import tsx test/fetch-clips.ts; inside node setup/test.mjs "$@" ;;
esac
