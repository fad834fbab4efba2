package cluster

import (
	"errors"
	"fmt"
	"io/fs"
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

// WriteScript makes the program in a directory of its own in dir, and returns its path. Servers run it, and cannot change it.
func WriteScript(dir, meet string) (string, error) {
	own := filepath.Join(dir, "sst")
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // for the server's account
		return "", fmt.Errorf("write state transfer program: %w", err)
	}
	path := filepath.Join(own, "wsrep_sst_"+server.SSTMethod)
	part := path + ".part"
	text := fmt.Sprintf(script, meet, server.SSTMethod)
	err := os.WriteFile(part, []byte(text), 0o755) //nolint:gosec // as above
	if err == nil {
		err = errors.Join(os.Chmod(own, 0o755), os.Chmod(part, 0o755)) //nolint:gosec,forbidigo // whatever the umask; in a directory of ours
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return "", fmt.Errorf("write state transfer program: %w", err)
	}
	return path, nil
}
