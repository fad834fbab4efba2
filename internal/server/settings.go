package server

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// NormalSet reads --set arguments (name=value, or name for ON); names are folded
// to lower case with underscores, as the server takes them either way.
func NormalSet(args []string) (map[string]string, error) {
	set := map[string]string{}
	for _, a := range args {
		name, value, found := strings.Cut(a, "=")
		name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
		if !found {
			value = "ON"
		}
		if !optionName(name) {
			return nil, fmt.Errorf("read --set %q: not an option name\nhint: --set max_connections=500", a)
		}
		set[name] = strings.TrimSpace(value)
	}
	return set, nil
}

func optionName(s string) bool {
	for _, c := range s {
		if c != '_' && c != '.' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// CheckSet refuses settings that Ramaria itself relies on, those that put data outside of the
// instance, and to take away the address, which would have the server listen on all of them. noLog is an instance without
// a binary log, whose settings Ramaria does not rely on; on some it relies for durable instances alone.
func (s *Server) CheckSet(set map[string]string, noLog bool, level Durability) error {
	if v, ok := set["bind_address"]; ok && v == "" {
		return errors.New("use --set bind_address: it has no value\nhint: --set bind_address=127.0.0.1, or leave it out")
	}
	if err := checkNeeds(set); err != nil {
		return err
	}
	for _, name := range sortedKeys(set) {
		if dataElsewhere[optionMeant(name)] && set[name] != "" && !filepath.IsLocal(set[name]) {
			return fmt.Errorf("use --set %s=%s: data would lie outside of the instance, where neither branches nor marks have it\nhint: leave it out%s", name, set[name], flagFor["datadir"])
		}
		if level.Durable() && filtersLog[optionMeant(name)] {
			return fmt.Errorf("use --set %s: what the log leaves out would be lost\nhint: leave it out, or --durable", name)
		}
		for _, r := range s.Family().profile {
			relied := r.fixed && r.replica.of(Config{}) && (r.durability == "" || slices.Contains(strings.Fields(r.durability), string(level))) || r.pledged && level.Durable()
			if relied && (r.name == name || optionMeant(r.name) == optionMeant(name)) && (r.log != logged || !noLog) {
				return fmt.Errorf("use --set %s: ramaria relies on its own value (%s)\nhint: leave it out%s", name, r.why, r.flag())
			}
		}
	}
	return nil
}

// LeastPacket is the least max_allowed_packet, in bytes, with which statements of Ramaria's own reach a server.
const LeastPacket = 64 << 10

// need is a setting without which an instance starts, or does its work, with some values only.
type need struct {
	option string
	// met reports whether a value does, and instead is what does, as near to the value as can be.
	met     func(value string) bool
	instead func(value string) string
	why     string
}

const uncompressed = "uncompressed"

var needs = []need{
	{"max_allowed_packet", func(value string) bool { n, ok := sizeOf(value); return !ok || n >= LeastPacket },
		func(string) string { return fmt.Sprintf("%dK", LeastPacket>>10) }, "statements of Ramaria's own are larger"},
	// https://dev.mysql.com/doc/refman/en/server-system-variables.html#sysvar_protocol_compression_algorithms
	{"protocol_compression_algorithms", func(value string) bool {
		return slices.ContainsFunc(strings.Split(value, ","), func(a string) bool { return strings.EqualFold(strings.TrimSpace(a), uncompressed) })
	}, func(value string) string { return value + "," + uncompressed }, "the server would refuse Ramaria's own connections, which are not compressed"},
	// https://mariadb.com/kb/en/server-system-variables/#secure_timestamp
	{"secure_timestamp", func(value string) bool { return !strings.EqualFold(value, "YES") && value != "3" },
		func(string) string { return "REPLICATION" }, "rows of clones and replicas would not get the times of those that they are made of"},
}

func checkNeeds(set map[string]string) error {
	for _, n := range needs {
		if value, is := Setting(set, n.option); is && !n.met(value) {
			return fmt.Errorf("use --set %s=%s: %s\nhint: --set %[1]s=%[4]s, or leave it out", n.option, value, n.why, n.instead(value))
		}
	}
	return nil
}

// Usable are the settings of what exists, which may be from before some values were refused: they are changed as far as
// needs to be, so that the instance starts, and is recovered.
func Usable(set map[string]string) map[string]string {
	for _, n := range needs {
		if value, is := Setting(set, n.option); is && !n.met(value) {
			set = withSetting(set, n.option, n.instead(value))
		}
	}
	return set
}

// sizeOf reads a size as servers do, in bytes.
func sizeOf(value string) (n int64, ok bool) {
	if value == "" {
		return 0, false
	}
	shift, digits := 0, value
	if at := strings.IndexByte("KMG", value[len(value)-1]&^0x20); at >= 0 {
		shift, digits = 10*(at+1), value[:len(value)-1]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n << shift, err == nil
}

// optionMeant is the option that a name stands for with the prefixes that servers take:
// skip_log_bin is log_bin. https://dev.mysql.com/doc/refman/en/option-modifiers.html
func optionMeant(name string) string {
	name = strings.TrimPrefix(name, "loose_")
	for _, prefix := range []string{"skip_", "disable_", "enable_", "maximum_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// FoldsNames reports whether a server with these settings takes names of databases and tables in any
// case, and keeps them in lower case.
// https://mariadb.com/kb/en/identifier-case-sensitivity/
func FoldsNames(set map[string]string) bool {
	value, _ := Setting(set, "lower_case_table_names")
	n, err := strconv.Atoi(value)
	return err == nil && n == 1 // 2 is for file systems of other systems: servers on Linux take it for 0
}

// Setting returns what an option is set to, whatever prefix its name has, and whether it is.
func Setting(set map[string]string, option string) (value string, is bool) {
	for _, name := range sortedKeys(set) {
		if optionMeant(name) == option {
			return set[name], true
		}
	}
	return "", false
}

// WithoutEvents are settings by which no event runs.
func WithoutEvents(set map[string]string) map[string]string {
	return withSetting(set, "event_scheduler", "OFF")
}

// Talkative are settings by which MySQL writes all that it has to say to its log.
func Talkative(set map[string]string) map[string]string {
	return withSetting(withSetting(set, "log_error_verbosity", "3"), "log_error_suppression_list", "")
}

// withSetting are settings of which one has a value, however it is written there.
func withSetting(set map[string]string, name, value string) map[string]string {
	with := map[string]string{name: value}
	for other, is := range set {
		if optionMeant(other) != name {
			with[other] = is
		}
	}
	return with
}

// flag is what a hint says of the flag to use instead of --set, or "".
func (r setting) flag() string {
	if r.log == logged && flagFor[r.name] == "" {
		return ", or --log off, which keeps no binary log and can reset nothing"
	}
	return flagFor[r.name]
}

// dataElsewhere are the options by which a part of the data lies outside the data directory.
var dataElsewhere = map[string]bool{
	"innodb_data_home_dir": true, "innodb_log_group_home_dir": true, "innodb_undo_directory": true, "innodb_doublewrite_dir": true,
	"aria_log_dir_path": true, "rocksdb_datadir": true, "chroot": true,
}

// filtersLog are the options by which the binary log leaves out changes.
var filtersLog = map[string]bool{"binlog_do_db": true, "binlog_ignore_db": true}

// flagFor names the flag to use instead of --set, for the options that have one.
var flagFor = map[string]string{
	"port":    "; use --port N",
	"socket":  "; use --socket PATH",
	"tmpdir":  "; use --tmpdir DIR",
	"datadir": "; choose where data lies with --volume",
	"log_bin": "; --log off keeps no binary log, and can reset nothing",
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
