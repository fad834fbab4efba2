#!/bin/sh
# Runs the drivers' own suites straight at a server, through the door with a database's name, and through it with a
# clone's, and compares what passes. suites/*.sh say how a suite is fetched and run; known.txt has the differences that
# are as they should be. Suites are kept in $SUITES; all else goes at the end. SERVER is the server, ONLY some suites.
set -u
umask 022
here=$PWD/tests/drivers ramaria=$PWD/bin/ramaria
: "${SUITES:=$PWD/bin/drivers}" "${SERVER:=mariadb:11.8}" "${ONLY:=$(ls "$here/suites" | sed 's/\.sh$//')}"
tmp=$(mktemp -d /tmp/drv.XXXXXX)
chmod 755 "$tmp"
export RAMARIA_HOME="$tmp/home"
door='' failed=0
# Fewer than this, and a suite has not run.
least=50

end() {
	[ -z "$door" ] || kill "$door"
	"$ramaria" down --all --rm >/dev/null 2>&1
	"$ramaria" volume rm --all --force >/dev/null 2>&1
	rm -rf --one-file-system "$tmp"
}
trap end EXIT
trap 'exit 130' INT TERM

mkdir -p "$RAMARIA_HOME/cache" "$SUITES"
[ ! -d "${RAMARIA_TEST_SERVERS:-/var/cache/ramaria-test/servers}" ] ||
	ln -s "${RAMARIA_TEST_SERVERS:-/var/cache/ramaria-test/servers}" "$RAMARIA_HOME/cache/servers"
"$ramaria" up main --server "$SERVER" --database blank --set local_infile=ON --set max_allowed_packet=64M >/dev/null || exit
"$ramaria" template add blank >/dev/null || exit
# A suite connects anew for each test, and finds what the last has left.
"$ramaria" front -i main --listen 127.0.0.1:0 --linger 60s >"$tmp/door" 2>"$tmp/door.log" &
door=$!
eval "$("$ramaria" env main)"
direct=$MYSQL_PORT HOST=127.0.0.1 USER=$MYSQL_USER PASSWORD=$MYSQL_PASSWORD
while [ ! -s "$tmp/door" ] && kill -0 "$door"; do sleep 0.1; done
through=$(sed 's/.*:\([0-9]*\).*/\1/' "$tmp/door")
# Drivers read some of these themselves.
unset $(env | sed -nE 's/^((MYSQL|MARIADB|DATABASE)_[A-Z_]*)=.*/\1/p')
export HOST USER PASSWORD

# needs: what a suite lacks on this machine, and how to get it; a suite may have one of its own.
needs() { :; }

# in_suite NAME DO: one of the functions of a suite, in its directory.
in_suite() (
	mkdir -p "$SUITES/$1" && cd "$SUITES/$1" && . "$here/suites/$1.sh" && "$2"
)

# debian_source PACKAGE: the source, as its authors published it, of one of Debian's packages, in src.
debian_source() {
	for source in "/etc/apt/sources.list.d/debian.sources" /etc/apt/sources.list; do
		[ -e "$source" ] && break
	done
	case $source in
	*.sources) sed 's/^Types:.*/Types: deb-src/' "$source" >debian.sources ;;
	*) sed 's/^deb /deb-src /' "$source" >debian.list ;;
	esac
	mkdir -p lists/partial
	package=$1
	set -- -qq -o Dir::Etc::SourceList="$PWD/$(ls debian.*)" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$PWD/lists"
	apt-get "$@" update
	apt-get "$@" -o APT::Sandbox::User=root source --tar-only "$package" || return
	rm -rf src && mkdir src
	tar xf "${package%/*}"_*.orig.tar.* --strip-components=1 -C src
}

# lists NAME WAY PORT DATABASE: has a suite run, and what became of each test.
lists() (
	export PORT="$3" DB="$4" LOG="$SUITES/$1/$2.log"
	in_suite "$1" run | sort >"$tmp/$1.$2"
)

# differences NAME WAY: what passes on one side only.
differences() {
	awk -v head="$1 $2" '{ test = $2; if (FILENAME == ARGV[1]) a[test] = $1; else b[test] = $1; all[test] }
		END { for (t in all) if ((a[t] == "PASS") != (b[t] == "PASS")) print head, t, a[t] "", "direct,", b[t] "" }' "$tmp/$1.direct" "$tmp/$1.$2" |
		sort >"$tmp/all"
	grep -v -e '^#' -e '^$' "$here/known.txt" | sed 's/.*/^& [A-Z]* direct, [A-Z]*$/' >"$tmp/known"
	grep -vEf "$tmp/known" "$tmp/all"
}

for name in $ONLY; do
	lacks=$(in_suite "$name" needs)
	[ -z "$lacks" ] || { echo "FAILED - $name cannot be built here, it needs $lacks"; failed=1; continue; }
	in_suite "$name" fetch >"$tmp/version" 2>"$SUITES/$name.fetch.log" || {
		echo "FAILED - $name cannot be fetched or built: $(tail -3 "$SUITES/$name.fetch.log")"
		failed=1
		continue
	}
	base=drv_$(echo "$name" | tr - _)
	"$ramaria" sql main -e "CREATE DATABASE $base" >/dev/null
	lists "$name" direct "$direct" "$base"
	"$ramaria" sql main -e "DROP DATABASE $base; CREATE DATABASE $base" >/dev/null
	lists "$name" door "$through" "$base"
	lists "$name" clone "$through" "blank@$name"
	said="$(head -1 "$tmp/version"): $(wc -l <"$tmp/$name.direct") tests;"
	for way in direct door clone; do
		said="$said $(grep -c ^PASS "$tmp/$name.$way") pass $way,"
	done
	echo "${said%,}"
	[ "$(grep -c ^PASS "$tmp/$name.direct")" -ge $least ] || { echo "FAILED - too few of $name pass: see $SUITES/$name"; failed=1; }
	for way in door clone; do
		if differences "$name" "$way"; then failed=1; fi
	done
done
exit $failed
