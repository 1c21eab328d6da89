#!/usr/bin/env bash
# Runs a command as on a machine that has little more than Node and npm, and prints what it hides: bubblewrap, Chromium,
# Python and other programs that a test must not need.
# The folders of programs are replaced in a mount namespace of the command's own: outside, nothing changes.
set -euo pipefail

under=/mnt # exists everywhere, and is replaced inside the namespace only
named=(-mindepth 1 -maxdepth 1 -regextype posix-extended
  -regex '.*/((bwrap|chromium|chrome|google-chrome|python|pypy|pyenv|firecracker|jailer)[^/]*|git|patch|ps|rg|cc)')

# The folders of programs here that have something to hide.
folders() {
  local folder
  for folder in /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /bin /sbin ${PATH//:/ }; do
    [ -d "$folder" ] && realpath "$folder"
  done | sort -u | while read -r folder; do
    find "$folder" "${named[@]}" | grep -q . && echo "$folder"
  done || true
}

# Each folder becomes one of links to its own programs, without those that are hidden.
hide() {
  local folder
  mount -t tmpfs tmpfs "$under"
  for folder in "$@"; do
    mkdir -p "$under/real$folder" "$under/links$folder"
    mount --bind "$folder" "$under/real$folder"
    find "$under/real$folder" -mindepth 1 -maxdepth 1 -type l -exec cp -P -t "$under/links$folder" {} +
    find "$under/real$folder" -mindepth 1 -maxdepth 1 ! -type l -exec ln -s -t "$under/links$folder" {} +
    echo "hidden in $folder:" $(find "$under/links$folder" "${named[@]}" -printf '%f\n' -delete | sort)
    mount --bind "$under/links$folder" "$folder"
  done
}

skip() {
  echo "SKIPPED: $1" >&2
  exit 0
}

if [ $# -eq 0 ]; then
  echo "Usage: scripts/bare-machine.sh COMMAND [ARGUMENT]…" >&2
  exit 2
fi
if [ "${1}" = --inside ]; then # as root of the namespace; "$2" is the user and group to run as
  hide $(folders)
  left=$(folders)
  [ -z "$left" ] || { echo "Programs could not be hidden in: $left" >&2; exit 1; }
  owner=$2
  shift 2
  [ "$owner" = 0:0 ] && exec "$@"
  exec unshare --user --map-user="${owner%:*}" --map-group="${owner#*:}" "$@"
fi
if [ -z "$(folders)" ]; then
  echo "nothing to hide: none of the programs is installed here"
  exec "$@"
fi
command -v unshare >/dev/null || skip "programs cannot be hidden, because \`unshare\` is not installed."
become=$([ "$(id -u)" -eq 0 ] || echo --map-root-user)
unshare --mount $become true 2>/dev/null || skip "programs cannot be hidden, because this machine refuses \`unshare --mount\`."
exec unshare --mount $become "$0" --inside "$(id -u):$(id -g)" "$@"
