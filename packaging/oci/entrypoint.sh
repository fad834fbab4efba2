#!/bin/sh
# What a container of the image runs: the instance main, which the variables of the official images of MySQL and MariaDB
# describe. Arguments that begin with a dash are flags of `ramaria up`; others are a command to run in its place.
set -eu
umask 077
case ${1:-} in
'' | -*) ;;
*) exec "$@" ;;
esac

fail() {
	printf 'ramaria: %s\nhint: %s\n' "$1" "$2" >&2
	exit 2
}

# named NAME: the value of MARIADB_NAME or MYSQL_NAME, or what is in the file that either with _FILE names.
named() {
	for flavour in MARIADB MYSQL; do
		eval "value=\${${flavour}_$1:-} file=\${${flavour}_$1_FILE:-}"
		if [ -n "$value" ]; then
			printf '%s' "$value"
			return
		elif [ -n "$file" ]; then
			cat "$file"
			return
		fi
	done
}

user=$(named USER) # one to a line: of several, only the last one's failure ends the script
password=$(named PASSWORD)
database=$(named DATABASE)
if [ -z "$user$password" ]; then
	user=root password=$(named ROOT_PASSWORD)
fi
[ -n "$password" ] || fail 'there is no password' \
	'-e MARIADB_PASSWORD=… (and MARIADB_USER, MARIADB_DATABASE), or MARIADB_ROOT_PASSWORD; MARIADB_PASSWORD_FILE names a file with it'
[ -w "$RAMARIA_HOME" ] || fail "$RAMARIA_HOME: uid $(id -u) cannot write there" 'chown 1000 what is mounted there'
printf '%s' "$password" >"$RAMARIA_HOME/password"
unset MARIADB_PASSWORD MYSQL_PASSWORD MARIADB_ROOT_PASSWORD MYSQL_ROOT_PASSWORD

door='--front 3307'
for flag; do
	case $flag in --front* | --durable* | --log*) door= ;; esac
done
dumps=/docker-entrypoint-initdb.d
if [ -e "$dumps" ]; then # a directory that cannot be read is not one without dumps
	found=$(find "$dumps" -name '*.sql*') || fail "$dumps: uid $(id -u) cannot read all of it" 'chmod -R a+rX what is mounted there'
	[ -n "$found" ] || dumps=
else
	dumps=
fi
set -- main --port 3306 $door --set 'bind_address=*' --password-file "$RAMARIA_HOME/password" --user "${user:-app}" \
	${database:+--database "$database"} ${dumps:+--from "$dumps"} "$@"

rm -f "$RAMARIA_HOME/ready"
ramaria up "$@" >/dev/null
for template in ${RAMARIA_TEMPLATE:-}; do
	ramaria template add "$template" >/dev/null
done
touch "$RAMARIA_HOME/ready"
ramaria logs main --follow >&2 &
exec ramaria up "$@" --foreground >/dev/null
