#!/usr/bin/env bash
# Proves the image without a container engine; --help says how.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
Makes what docker/Dockerfile describes, without a container engine, and runs it:

  docker/prove.sh [--base FOLDER] [--keep]

Every stage is a bare Debian root made by debootstrap, with this machine's Node in it; the instructions of the Dockerfile
are carried out there, one by one. The result goes through an archive, as an image that is pushed and pulled, and is
started in it as the image's user: without rights, without a network, with the image's own settings. Then it must become
healthy, show the console, detect in a video, have what it was warmed with, and stop cleanly.

  --base FOLDER   a root that debootstrap --variant=minbase has made before; it is copied, and stays as it is
  --keep          leaves the folder with the roots, and says where it is

Needs root, debootstrap, git, iproute2, the Node that the Dockerfile names, about 6 GB below ${TMPDIR:-/var/tmp} and some
minutes. What is tracked by git is the context of the build, as it lies in the checkout.
TEXT
}
fail() { echo "prove.sh: $*" >&2; exit 1; }

base='' keep=''
while (($# > 0)); do
  case $1 in
    --base) [[ -d ${2:-} ]] || fail "--base wants a folder"; base=$(realpath "$2"); shift ;;
    --keep) keep=yes ;;
    --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
((EUID == 0)) || fail "must be root: it makes roots of its own and changes into them"
programs=(unshare setpriv chroot git ip node npm)
[[ $base ]] || programs+=(debootstrap)
for program in "${programs[@]}"; do command -v "$program" > /dev/null || fail "$program is missing"; done

work=$(mktemp --directory "${TMPDIR:-/var/tmp}/windhover-prove.XXXXXX")
# Whatever was mounted or started was so in a namespace of its own, and is gone with it.
clean() { if [[ $keep ]]; then echo "kept: $work"; else rm --recursive --force --one-file-system "$work"; fi; }
trap clean EXIT
trap 'exit 130' INT TERM

# Carries out a command in a root: inside ROOT FOLDER COMMAND…
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

# A root as `FROM node:…-slim` gives it, that reaches what this machine reaches.
make_root() {
  local root=$1 image=${2%@sha256:*} name
  [[ $image =~ ^node:([0-9]+)-([a-z]+)-slim$ ]] || fail "does not know how to make $image"
  [[ $(node --version) = v${BASH_REMATCH[1]}.* ]] || fail "$image: this machine has Node $(node --version)"
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

# For the steps of the build, besides what ENV says.
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
    ARG) [[ $text = NODE_IMAGE=* ]] || fail "does not know the argument $text"; base_image=${text#NODE_IMAGE=} ;;
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
    *) fail "does not know the instruction $instruction" ;;
  esac
  ((SECONDS - began < 2)) || echo "=== $((SECONDS - began)) s"
done < <(sed --expression='/^#/d;/^\s*$/d;:a;/\\$/{N;s/\\\n\s*//;ba}' docker/Dockerfile)

echo "=== as an image: times in whole seconds, other inodes"
mkdir "$work/image"
tar --create --format=gnu --numeric-owner --directory "$root" . | tar --extract --preserve-permissions --numeric-owner --directory "$work/image"
echo "image: $(du --summarize --block-size=M "$work/image" | cut --fields=1), of which Debian and Node $(du --summarize --block-size=M --total "$base" "$root/usr/local" | tail --lines=1 | cut --fields=1)"

home=$(grep "^$user:" "$work/image/etc/passwd" | cut --delimiter=: --fields=6)
variables=("HOME=$home" LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin "${settings[@]}")
isolation=(--net)
inside "$work/image" "$folder" setpriv --reuid "$user" --regid "$user" --init-groups --no-new-privs --bounding-set=-all \
  --inh-caps=-all node docker/prove.mjs "$entrypoint" "$command" "$health" "$stop"
