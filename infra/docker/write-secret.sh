#!/usr/bin/env bash
# Replaces a secret of the compose stack with standard input: infra/docker/write-secret.sh FILE <VALUE
# FILE is the name below /secrets, such as authorization/cookie-keys. Running containers do not reread it:
# docs/rotation.md, "With compose", has the steps for each.
# COMPOSE names another command than `docker compose`.
set -euo pipefail
file=${1:?usage: infra/docker/write-secret.sh FILE, with the new value on standard input}
read -ra compose <<<"${COMPOSE:-docker compose}"

fail() {
  echo "write-secret.sh: $1" >&2
  exit 2
}
value=$(cat)
# Characters that need no escaping in a URL, in a Redis configuration and in a list of keys.
[[ $value =~ ^[A-Za-z0-9_,-]+$ ]] || fail 'a value has only letters, digits, - and _, and commas between keys'
[[ $file =~ ^[a-z]+/[a-z-]+$ ]] || fail "no secret is called $file"

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# Atomic, because services may read the file. Root has no capability there to write to a read-only file.
printf %s "$value" | "${compose[@]}" run --rm --no-deps -T secrets sh -c '
  cd /secrets
  [ -f "$0" ] || { echo "write-secret.sh: no secret is called $0" >&2; exit 2; }
  rm -f "$0.new" && cat >"$0.new" && chmod 444 "$0.new" && mv -f "$0.new" "$0"' "$file"
