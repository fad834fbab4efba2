# What every script of a scenario begins with.
export PATH=/usr/local/bin:$PATH HOME=/root LC_ALL=C SYSTEMD_COLORS=0 SYSTEMD_PAGER=
unset TERM

# check WHAT COMMAND...: the command succeeds.
check() {
	local what=$1 out
	shift
	if out=$("$@" 2>&1); then echo "ok - $what"; else echo "FAILED - $what: $out"; fi
}

# refuse WHAT COMMAND...: the command fails.
refuse() {
	local what=$1 out
	shift
	if out=$("$@" 2>&1); then echo "FAILED - $what: $out"; else echo "ok - $what"; fi
}

# equal WHAT GOT WANT
equal() {
	if [ "$2" = "$3" ]; then echo "ok - $1"; else echo "FAILED - $1: got '$2', want '$3'"; fi
}

# within WHAT GOT MOST: a number is not above another.
within() {
	if awk "BEGIN { exit !($2 <= $3) }"; then echo "ok - $1: $2 of $3"; else echo "FAILED - $1: $2 is above $3"; fi
}

# value INSTANCE STATEMENT
value() { ramaria sql "$1" -e "$2" | tail -1; }

# settled UNIT: waits until a unit has started or failed.
settled() {
	local n=0
	while [ "$(systemctl is-active "$1")" = activating ] && [ $n -lt 120 ]; do sleep 1; n=$((n + 1)); done
	systemctl is-active "$1"
}
