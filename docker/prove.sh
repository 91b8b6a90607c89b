#!/usr/bin/env bash
# Tests the image without a container engine; see --help.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
Builds docker/Dockerfile without a container engine and runs the result:

  docker/prove.sh [--base FOLDER] [--keep]

Every stage is a bare Debian root from debootstrap with this machine's Node, in which the instructions of the Dockerfile
run one by one. The result passes through an archive, like an image that is pushed and pulled, and starts as the image's
user: without capabilities, without a network, with the image's settings. It must become healthy, serve the console, run
a detector on a video, keep its plugin registry, and stop cleanly.

  --base FOLDER   an existing root from debootstrap --variant=minbase; it is copied and not changed
  --keep          keeps the folder with the roots and prints its path

Requires root, debootstrap, git, iproute2, the Node version of the Dockerfile, about 6 GB in ${TMPDIR:-/var/tmp} and some
minutes. The build context is the files that git tracks, as they are in the checkout.
TEXT
}
fail() { echo "prove.sh: $*" >&2; exit 1; }

base='' keep=''
while (($# > 0)); do
  case $1 in
    --base) [[ -d ${2:-} ]] || fail "--base: expected an existing folder"; base=$(realpath "$2"); shift ;;
    --keep) keep=yes ;;
    --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
((EUID == 0)) || fail "must run as root: it creates root folders and runs chroot"
programs=(unshare setpriv chroot git ip node npm)
[[ $base ]] || programs+=(debootstrap)
for program in "${programs[@]}"; do command -v "$program" > /dev/null || fail "$program is missing"; done

work=$(mktemp --directory "${TMPDIR:-/var/tmp}/windhover-prove.XXXXXX")
# Mounts and processes were in separate namespaces and have ended with them.
clean() { if [[ $keep ]]; then echo "kept: $work"; else rm --recursive --force --one-file-system "$work"; fi; }
trap clean EXIT
trap 'exit 130' INT TERM

# Runs a command in a root: inside ROOT FOLDER COMMAND…
inside() {
  local root=$1 folder=$2
  shift 2
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child "${isolation[@]}" bash -c '
    set -e
    mount --make-rprivate /
    mount --types proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    [[ $3 = open ]] || ip link set lo up
    exec chroot "$1" /usr/bin/env --ignore-environment --chdir="$2" "${@:4}"
  ' inside "$root" "$folder" "${isolation[0]:-open}" "${variables[@]}" "$@"
}
isolation=()

# A root like `FROM node:…-slim`, with this machine's resolver, proxies and certificates.
make_root() {
  local root=$1 image=${2%@sha256:*} name
  [[ $image =~ ^node:([0-9]+)-([a-z]+)-slim$ ]] || fail "unsupported base image $image: expected node:VERSION-RELEASE-slim"
  [[ $(node --version) = v${BASH_REMATCH[1]}.* ]] || fail "$image requires its major version of Node; this machine has $(node --version)"
  if [[ ! $base ]]; then
    base=$work/base
    debootstrap --variant=minbase "${BASH_REMATCH[2]}" "$base" > "$work/debootstrap.log" || fail "$(tail "$work/debootstrap.log")"
  fi
  cp --archive "$base" "$root"
  cp --dereference /etc/resolv.conf /etc/hosts "$root/etc/"
  for name in $(grep --files-with-matches --ignore-case --no-messages proxy /etc/apt/apt.conf.d/* || true); do
    cp "$name" "$root/etc/apt/apt.conf.d/"
  done
  [[ ! -e /etc/ssl/certs/ca-certificates.crt ]] || cp --dereference /etc/ssl/certs/ca-certificates.crt "$root/opt/"
  install -D "$(realpath "$(command -v node)")" "$root/usr/local/bin/node"
  mkdir --parents "$root/usr/local/lib/node_modules"
  cp --archive "$(dirname "$(dirname "$(realpath "$(command -v npm)")")")" "$root/usr/local/lib/node_modules/npm"
  for name in npm npx; do ln --symbolic "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"; done
}

# Variables of build steps, in addition to ENV.
outside=(HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
[[ ! -e /etc/ssl/certs/ca-certificates.crt ]] \
  || outside+=(NODE_EXTRA_CA_CERTS=/opt/ca-certificates.crt npm_config_cafile=/opt/ca-certificates.crt)
for name in http_proxy https_proxy no_proxy; do [[ ! ${!name:-} ]] || outside+=("$name=${!name}"); done

# COPY SOURCE… TARGET: a folder's contents, or files into a folder.
copy() {
  local from=$1 to=$2 target=${*: -1} source
  [[ $target = /* ]] || target=$folder/$target
  mkdir --parents "$to/$target"
  for source in "${@:3:$#-3}"; do
    [[ $source = /* ]] && source=$from$source || source=$from/$source
    if [[ -d $source ]]; then cp --archive "$source/." "$to/$target"; else cp --archive "$source" "$to/$target/"; fi
  done
}

mkdir "$work/context"
git ls-files -z | tar --create --null --files-from=- | tar --extract --directory "$work/context"

declare -A roots=()
base_image='' stage=0 root='' folder=/ user=root settings=() entrypoint=[] command=[] health=[] stop=SIGTERM
while read -r instruction text; do
  echo "=== $instruction $text"
  began=$SECONDS
  [[ ! $base_image ]] || text=${text//'${NODE_IMAGE}'/$base_image}
  read -ra words <<< "$text"
  case $instruction in
    ARG) [[ $text = NODE_IMAGE=* ]] || fail "unsupported argument: $text"; base_image=${text#NODE_IMAGE=} ;;
    FROM)
      stage=$((stage + 1)) root=$work/stage-$stage folder=/ settings=() user=root
      [[ ${words[1]:-} != AS ]] || roots[${words[2]}]=$root
      make_root "$root" "${words[0]}" ;;
    WORKDIR) folder=$text; mkdir --parents "$root$folder" ;;
    COPY)
      from=$work/context
      if [[ $text = --from=* ]]; then from=${roots[${words[0]#--from=}]}; words=("${words[@]:1}"); fi
      copy "$from" "$root" "${words[@]}" ;;
    RUN) variables=("${outside[@]}" "${settings[@]}"); inside "$root" "$folder" sh -c "$text" < /dev/null ;;
    ENV) settings+=("${words[@]}") ;;
    USER) user=$text ;;
    ENTRYPOINT) entrypoint=$text ;;
    CMD) command=$text ;;
    HEALTHCHECK) health=${text#*CMD } ;;
    STOPSIGNAL) stop=$text ;;
    VOLUME | EXPOSE) ;;
    *) fail "unsupported instruction: $instruction" ;;
  esac
  ((SECONDS - began < 2)) || echo "=== $((SECONDS - began)) s"
done < <(sed --expression='/^#/d;/^\s*$/d;:a;/\\$/{N;s/\\\n\s*//;ba}' docker/Dockerfile)

echo "=== image archive: whole-second times, new inodes"
mkdir "$work/image"
tar --create --format=gnu --numeric-owner --directory "$root" . | tar --extract --preserve-permissions --numeric-owner --directory "$work/image"
echo "image: $(du --summarize --block-size=M "$work/image" | cut --fields=1), of which Debian and Node $(du --summarize --block-size=M --total "$base" "$root/usr/local" | tail --lines=1 | cut --fields=1)"

home=$(grep "^$user:" "$work/image/etc/passwd" | cut --delimiter=: --fields=6)
variables=("HOME=$home" LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin "${settings[@]}")
isolation=(--net)
inside "$work/image" "$folder" setpriv --reuid "$user" --regid "$user" --init-groups --no-new-privs --bounding-set=-all \
  --inh-caps=-all node docker/prove.mjs "$entrypoint" "$command" "$health" "$stop"
