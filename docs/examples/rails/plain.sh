#!/bin/sh
# The same tests without the door, to compare with: one process, one database. ISOLATION says how it is put back after each
# test that commits: truncate.
set -e
[ "$ISOLATION" = truncate ] || { echo "ISOLATION is truncate" >&2; exit 1; }
export DB_PORT="$MYSQL_TCP_PORT" DB_NAME=app PARALLEL_WORKERS=1
mysql --no-defaults -h 127.0.0.1 -P "$MYSQL_TCP_PORT" -u "$MYSQL_USER" <<-'SQL'
	CREATE DATABASE ramaria;
	DELIMITER //
	CREATE PROCEDURE ramaria.reset() BEGIN TRUNCATE TABLE app.items; TRUNCATE TABLE app.orders; END //
SQL
bin/rails db:create db:schema:load db:fixtures:load
bin/rails test
