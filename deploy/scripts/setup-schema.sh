#!/bin/sh
# Creates both databases where they are missing and brings their schemas up to date. May run any number of times.
set -eu

tool() {
  temporal-sql-tool --plugin "$DB" --ep "$POSTGRES_SEEDS" -p "$DB_PORT" -u "$POSTGRES_USER" "$@"
}

setup() {
  database=$1
  versions=$2
  # Creating refuses to touch what exists, which is not a failure here: the update below finds real ones.
  tool --db "$database" create || echo "$database: exists"
  tool --db "$database" setup-schema -v 0.0 || echo "$database: schema exists"
  tool --db "$database" update-schema -d "$versions"
}

setup temporal /etc/temporal/schema/postgresql/v12/temporal/versioned
setup temporal_visibility /etc/temporal/schema/postgresql/v12/visibility/versioned
