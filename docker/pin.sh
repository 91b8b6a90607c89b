#!/bin/sh
# Appends the current digest to every image tag in docker/Dockerfile and the compose files, so that builds and starts
# always use the same image. Pinned images get no security fixes: run it again to update the digests, and commit them.
#
#   docker/pin.sh            requires docker with buildx, and access to the registries
#   docker/pin.sh --undo     removes the digests
set -eu
cd "$(dirname "$0")"
files='Dockerfile compose.yaml cluster/compose.yaml'

# NAME:TAG of every third-party image, without its digest.
images() {
  # shellcheck disable=SC2086
  sed --quiet --regexp-extended \
    's/^ARG NODE_IMAGE=([^@ ]+).*/\1/p;s/^ +image: ([a-z0-9._\/-]+:[^@ ]+).*/\1/p' $files | sort --unique
}

for image in $(images); do
  digest=''
  if [ "${1:-}" != --undo ]; then
    digest=$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
    echo "$digest" | grep --quiet --extended-regexp '^sha256:[0-9a-f]{64}$' \
      || { echo "pin.sh: no digest for $image: \"$digest\"" >&2; exit 1; }
    digest="@$digest"
  fi
  name=$(echo "$image" | sed 's/[.]/\\./g')
  # shellcheck disable=SC2086
  sed --in-place --regexp-extended "s|((^ARG NODE_IMAGE=\|^ +image: )$name)(@sha256:[0-9a-f]{64})?( *)\$|\\1$digest\\4|" $files
  echo "$image$digest"
done
