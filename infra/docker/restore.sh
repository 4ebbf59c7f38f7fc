#!/usr/bin/env bash
# Restores a backup of backup.sh into an empty compose stack: infra/docker/restore.sh FOLDER
# "Empty" means that its databases have no tables; others are never overwritten. Start everything afterwards with
# `docker compose up --detach`. Ends all tokens and sessions, because the backup lacks later revocations; users sign in
# and allow apps again. docs/backup.md says why.
# COMPOSE names another command than `docker compose`.
set -euo pipefail
source=${1:?usage: infra/docker/restore.sh FOLDER}
read -ra compose <<<"${COMPOSE:-docker compose}"

fail() {
  echo "restore.sh: $1" >&2
  exit 1
}
on_postgres() { "${compose[@]}" exec -T --user postgres postgres "$@"; }
query() { on_postgres psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 "$@" </dev/null; }

source=$(cd "$source" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
(cd "$source" && sha256sum --quiet --check SHA256SUMS) || fail "$source is incomplete or damaged"

"${compose[@]}" up --detach postgres
for _ in $(seq 60); do
  on_postgres pg_isready --quiet --host=127.0.0.1 </dev/null && break
  sleep 1
done
for database in valetkey_authorization valetkey_files; do
  exists=$(query --command="select count(*) from pg_database where datname = '$database'")
  [ "$exists" = 0 ] && continue
  tables=$(query --dbname="$database" --command="select count(*) from pg_tables where schemaname = 'public'")
  [ "$tables" = 0 ] || fail "the database $database is not empty; run docker compose down --volumes first"
done

trap 'echo "restore.sh: restore failed; run docker compose down --volumes, then run it again" >&2' ERR
# Nothing must write during the restore; services read the restored secrets at their next start.
"${compose[@]}" stop proxy resource-server authorization-server redis
"${compose[@]}" run --rm --no-deps -T secrets tar --extract --directory=/secrets --no-same-owner <"$source/secrets.tar"
# Sets the superuser's password to that of the backup.
on_postgres psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 <<'SQL'
\set password `cat /run/valetkey/superuser-password`
alter role postgres password :'password';
SQL
"${compose[@]}" run --rm --no-deps -T databases </dev/null
for database in valetkey_authorization valetkey_files; do
  on_postgres pg_restore --exit-on-error --single-transaction --dbname="$database" <"$source/$database.dump"
done
query --dbname=valetkey_authorization --command='update clients set generation = generation + 1'
query --dbname=valetkey_authorization --command='delete from sessions'
# Deletes codes, pending requests and counters from before the restore.
"${compose[@]}" up --detach redis
on_redis() { "${compose[@]}" exec -T redis sh -c "REDISCLI_AUTH=\$(cat /run/valetkey/password) redis-cli $1" </dev/null; }
for _ in $(seq 60); do
  [ "$(on_redis ping)" = PONG ] && break
  sleep 1
done
[ "$(on_redis flushall)" = OK ] || fail 'Redis could not be emptied'
echo 'Restored. Start it with: docker compose up --detach'
