#!/usr/bin/env bash
# Restarts the containers of a compose service, each once the one before is healthy again: infra/docker/restart.sh SERVICE
# This rereads secrets, not settings: `docker compose up --detach` applies those.
# COMPOSE names another command than `docker compose`.
set -euo pipefail
service=${1:?usage: infra/docker/restart.sh SERVICE}
read -ra compose <<<"${COMPOSE:-docker compose}"

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
containers=$("${compose[@]}" ps --quiet "$service")
[ -n "$containers" ] || { echo "restart.sh: no container of $service runs" >&2; exit 1; }
for container in $containers; do
  docker restart "$container" >/dev/null
  for _ in $(seq 120); do
    health=$(docker inspect --format '{{.State.Health.Status}}' "$container")
    [ "$health" = healthy ] && break
    sleep 1
  done
  [ "$health" = healthy ] || { echo "restart.sh: $service did not become healthy; the containers after it were not restarted" >&2; exit 1; }
done
