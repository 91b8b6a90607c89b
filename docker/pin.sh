#!/bin/sh
# Writes the digest of each image behind its tag, in docker/Dockerfile and docker/compose.yaml: what is built and started
# is then the same image tomorrow, whatever its tag names by then. Run it again to move on to the images of the day (a
# pinned image gets no security fixes by itself), and commit what it changed.
#
#   docker/pin.sh            needs docker with buildx, and the registries of the images
#   docker/pin.sh --undo     removes the digests
set -eu
cd "$(dirname "$0")"
files='Dockerfile compose.yaml'

# NAME:TAG of every image that is not ours, with its digest taken off.
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
