#!/bin/sh
# Measures ways to keep these tests apart; takes the flags of ramaria bench suite.
export TESTS='cargo test --manifest-path bench/Cargo.toml'
exec ramaria bench suite \
	--way 'reload@disk=ISOLATION=reload $TESTS -- --test-threads=1' \
	--way 'reload@shm-relaxed=ISOLATION=reload $TESTS -- --test-threads=1' \
	--way 'door@ramaria=sh ../door.sh $TESTS' "$@"
