#!/usr/bin/env bash
# Backs up the compose stack while it runs: infra/docker/backup.sh FOLDER
# Writes both databases and the secrets into FOLDER, which must be empty or missing. Its readers can act as this
# installation: store it where only operators can read it. docs/backup.md says what to do with it.
# COMPOSE names another command than `docker compose`.
set -euo pipefail
umask 077
target=${1:?usage: infra/docker/backup.sh FOLDER}
read -ra compose <<<"${COMPOSE:-docker compose}"

mkdir -p "$target"
target=$(cd "$target" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ -n "$(ls -A "$target")" ]; then
  echo "backup.sh: $target is not empty" >&2
  exit 2
fi

for database in valetkey_authorization valetkey_files; do
  "${compose[@]}" exec -T --user postgres postgres pg_dump --format=custom --dbname="$database" >"$target/$database.dump"
done
"${compose[@]}" run --rm --no-deps -T secrets tar --create --directory=/secrets authorization files postgres redis >"$target/secrets.tar"

# Detects a truncated dump immediately.
for database in valetkey_authorization valetkey_files; do
  "${compose[@]}" exec -T --user postgres postgres pg_restore --list <"$target/$database.dump" >/dev/null
done
tar --list --file="$target/secrets.tar" >/dev/null
# Written last: a backup without this file is incomplete.
(cd "$target" && sha256sum -- *.dump secrets.tar >SHA256SUMS)
echo "Backed up into $target"
