#!/usr/bin/env bash
# Copies the primary, unless that was done before, and follows it.
set -euo pipefail
PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
export PGPASSWORD
if [[ ! -s $PGDATA/PG_VERSION ]]; then
    until pg_basebackup --host primary --username standby --pgdata "$PGDATA" --wal-method stream --write-recovery-conf; do
        find "$PGDATA" -mindepth 1 -delete
        sleep 1
    done
    chmod 0700 "$PGDATA"
fi
exec postgres
