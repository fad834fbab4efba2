package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/server"
)

// script is the state transfer method of Galera's members. The server runs it when a member joins that lacks something; all
// that it does is to say that this comes from a donor's cache. A donor that does not have it any more says so by failing, and
// the joiner ends: whoever started it makes it again, from a copy.
//
// The method's words are those of wsrep_sst_common and the manual:
// https://mariadb.com/kb/en/introduction-to-state-snapshot-transfers-ssts/
const script = `#!/bin/sh
# Written by ramaria. The members meet in a directory: a joiner waits there for its donor's word.
meet='%s'
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2 ;;
	--address) address=$2 ;;
	--parent) parent=$2 ;;
	--gtid) gtid=$2 ;;
	--gtid-domain-id) domain=$2 ;;
	--bypass) bypass=1; shift; continue ;;
	--mysqld-args) break ;;
	esac
	shift
	[ $# -eq 0 ] || shift
done
address=${address%%%%/*}
word=$meet/$(echo "$address" | tr -c 'A-Za-z0-9\n' _)
case $role in
joiner)
	rm -f "$word"
	echo "ready $address/%s"
	until [ -s "$word" ]; do
		kill -0 "$parent" 2>/dev/null || exit 32
		sleep 0.05
	done
	answer=$(cat "$word")
	rm -f "$word"
	[ "$answer" != none ] || exit 61
	echo "$answer"
	;;
donor)
	if [ -n "$bypass" ]; then
		echo "$gtid $domain" > "$word.part" && mv "$word.part" "$word" && echo "done $gtid"
	else
		echo none > "$word.part" && mv "$word.part" "$word"
		exit 61
	fi
	;;
*) exit 22 ;;
esac
`

// WriteScript makes the program of a cluster's members, and returns its path. Servers run it, and cannot change it.
func (s Store) WriteScript(name string) (string, error) {
	failed := func(err error) (string, error) { return "", fmt.Errorf("write state transfer program: %w", err) }
	dir := filepath.Join(s.Programs, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return failed(err)
	}
	for _, path := range []string{s.Programs, dir} {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:forbidigo // whatever the umask; directories of ours
			return failed(err)
		}
	}
	f, err := os.CreateTemp(dir, ".tmp-") // members start at once
	if err != nil {
		return failed(err)
	}
	path := filepath.Join(dir, "wsrep_sst_"+server.SSTMethod)
	_, err = fmt.Fprintf(f, script, s.Meet(name), server.SSTMethod)
	if err = errors.Join(err, f.Chmod(0o755), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return failed(errors.Join(err, os.Remove(f.Name())))
	}
	return path, nil
}
