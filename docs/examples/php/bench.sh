#!/bin/sh
# Measures ways to keep these tests apart; takes the flags of ramaria bench suite.
export PHPUNIT="phpunit --bootstrap bench.php --repeat ${TIMES:-4}"
exec ramaria bench suite \
	--way 'reload@disk=ISOLATION=reload $PHPUNIT' \
	--way 'reload@shm-relaxed=ISOLATION=reload $PHPUNIT' \
	--way 'door@ramaria=sh ../door.sh sh -c "ls tests/*Test.php | xargs -P 2 -n 1 $PHPUNIT"' "$@"
