#!/usr/bin/env bash
# Lets the standby copy the primary. The image of PostgreSQL runs this once, when its directory is empty.
set -euo pipefail
password=$(cat "$POSTGRES_PASSWORD_FILE")
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --set password="$password" <<'SQL'
CREATE ROLE standby REPLICATION LOGIN PASSWORD :'password';
SQL
echo "host replication standby all scram-sha-256" >>"$PGDATA/pg_hba.conf"
