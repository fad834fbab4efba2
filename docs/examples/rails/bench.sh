#!/bin/sh
# Measures ways to keep these tests apart; takes the flags of ramaria bench suite.
unset DATABASE_URL
export RAILS_ENV=test
export READY='DB_PORT=$MYSQL_TCP_PORT DB_NAME=app bin/rails db:create db:schema:load db:fixtures:load && ramaria template add app'
exec ramaria bench suite \
	--way 'truncate@disk=unset DATABASE_URL; ISOLATION=truncate sh plain.sh' \
	--way 'truncate@shm-relaxed=unset DATABASE_URL; ISOLATION=truncate sh plain.sh' \
	--way 'door@ramaria=unset DATABASE_URL; sh ../door.sh sh -ec "$READY && bin/rails test"' "$@"
