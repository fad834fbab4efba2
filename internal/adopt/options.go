// Package adopt reads how a service runs its server, and decides what of that an instance in RAM takes
// over: which options, which place in the world (socket, port, address), which not, and why. Of the service it
// changes nothing but who may connect while it ends.
package adopt

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Option is an option of a server as its option files and its command line have it.
type Option struct {
	// Name has underscores, and no prefix "loose_".
	Name, Value string
}

// optionStart is where an option begins in what --print-defaults prints: values with spaces in them are not quoted there.
var optionStart = regexp.MustCompile(`(?:^|\s)--[a-zA-Z]`)

// ParseDefaults reads what a server's --print-defaults prints.
// https://mariadb.com/kb/en/mariadbd-options/#-print-defaults
func ParseDefaults(text string) []Option {
	_, list, found := strings.Cut(text, "arguments:\n")
	if !found {
		return nil
	}
	var args []string
	at := optionStart.FindAllStringIndex(list, -1)
	for i, m := range at {
		end := len(list)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		args = append(args, "--"+strings.TrimSpace(list[m[1]-1:end]))
	}
	return ParseArguments(args)
}

// ParseArguments reads arguments of a server, without its name. What follows an option and is none is its value: servers
// take no other arguments.
func ParseArguments(args []string) []Option {
	var list []Option
	for i, arg := range args {
		name, ok := strings.CutPrefix(arg, "--")
		if !ok {
			continue
		}
		if i+1 < len(args) && !strings.Contains(name, "=") && !strings.HasPrefix(args[i+1], "-") {
			name += "=" + args[i+1]
		}
		name, value, given := strings.Cut(name, "=")
		name = strings.TrimPrefix(strings.ReplaceAll(name, "-", "_"), "loose_")
		if !given {
			name, value = flag(name)
		}
		list = append(list, Option{name, value})
	}
	return list
}

// skipped are variables whose own names begin as an option's negation does.
var skipped = []string{"skip_name_resolve", "skip_networking", "skip_show_database", "skip_external_locking", "skip_grant_tables", "skip_slave_start", "skip_replica_start"}

// flag is what an option without a value means.
func flag(name string) (string, string) {
	if name == "skip_host_cache" { // not every release has it, and host_cache is no option
		return "host_cache_size", "0"
	}
	for _, prefix := range []string{"skip_", "disable_"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && !slices.Contains(skipped, name) {
			return rest, "OFF"
		}
	}
	return strings.TrimPrefix(name, "enable_"), "ON"
}

// Setting is an option, and what becomes of it.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Why is why it is not taken over; "" if it is.
	Why string `json:"why,omitempty"`
}

// Rules are what Decide needs to know of the server and of the instance.
type Rules struct {
	// Check refuses an option that Ramaria relies on its own value of.
	Check func(name, value string) error
	// Readable and Writable report whether the account of the instance's server may read a file, or make one there.
	Readable, Writable func(path string) bool
	// DataDir is the data directory of the service.
	DataDir string
}

// ofPlace are options that say where the server is in the world: the plan says them in other words.
var ofPlace = map[string]bool{
	"datadir": true, "socket": true, "port": true, "bind_address": true, "pid_file": true, "user": true, "basedir": true, "chroot": true,
	"defaults_file": true, "defaults_extra_file": true, "defaults_group_suffix": true, "no_defaults": true, "daemonize": true, "console": true,
}

// ownReasons are why an option is not taken over.
var ownReasons = []struct {
	names []string
	why   string
}{
	{[]string{"tmpdir", "slave_load_tmpdir", "replica_load_tmpdir", "innodb_temp_data_file_path", "innodb_tmpdir", "innodb_temp_tablespaces_dir"}, "temporary files lie in RAM: --tmpdir changes that"},
	{[]string{"log_error", "syslog", "syslog_tag", "log_error_services"}, "ramaria logs shows the log"},
	{[]string{"plugin_dir", "lc_messages_dir", "character_sets_dir", "language"}, "of the program, not of the data"},
	{[]string{"skip_grant_tables"}, "it lets everybody in, and nobody by the accounts that the instance works by"},
	{[]string{"secure_file_priv"}, "the instance has a directory of its own for such files"},
	{[]string{"innodb_flush_method", "innodb_io_capacity", "innodb_io_capacity_max", "innodb_flush_neighbors", "innodb_read_io_threads", "innodb_write_io_threads", "innodb_use_native_aio", "innodb_doublewrite", "innodb_buffer_pool_dump_at_shutdown", "innodb_buffer_pool_load_at_startup", "innodb_random_read_ahead", "innodb_read_ahead_threshold"}, "about a disk; the data is in RAM"},
	{[]string{"innodb_buffer_pool_size", "innodb_buffer_pool_instances", "innodb_buffer_pool_chunk_size", "innodb_dedicated_server"}, "it keeps pages of a disk in RAM; here they are there already, and it grows as it is needed"},
	{[]string{"innodb_log_file_size", "innodb_log_files_in_group", "innodb_redo_log_capacity"}, "the redo log is in RAM too, and small"},
	{[]string{"log_bin", "log_bin_index", "log_basename", "expire_logs_days", "binlog_expire_logs_seconds", "max_binlog_size", "sync_binlog", "relay_log", "relay_log_index", "log_slave_updates", "log_replica_updates", "server_id", "report_host", "binlog_format", "max_binlog_total_size"}, "the instance has a binary log of its own, which its archive is made of"},
}

// xProtocol is why nothing of MySQL's other protocol is taken over.
const xProtocol = "instances do not speak the X protocol"

// manyTimes are options that mean each of the values that they are given; those of other options replace one another.
var manyTimes = map[string]string{"plugin_load_add": ";", "early_plugin_load": ";", "optimizer_switch": ","}

// ofOneValue are options that mean each of the values that they are given, and have no way to write several in one.
var ofOneValue = []string{"performance_schema_instrument", "ignore_db_dirs", "ignore_db_dir"}

// files are options whose value is a file that the server reads, and logFiles those whose value is one that it writes.
var (
	files    = []string{"ssl_ca", "ssl_cert", "ssl_key", "ssl_crl", "init_file", "file_key_management_filename", "file_key_management_filekey", "ft_stopword_file", "tls_ca"}
	logFiles = []string{"general_log_file", "slow_query_log_file", "log_slow_query_file", "server_audit_file_path", "audit_log_file"}
)

// Decide sorts the options of a service, the last of a name first come: taken is what becomes --set, and left what is not
// taken over.
func Decide(options []Option, r Rules) (taken map[string]string, kept, left []Setting) {
	taken = map[string]string{}
	var names []string
	values, several := map[string]string{}, map[string]bool{}
	for _, o := range options {
		was, again := values[o.Name]
		if !again {
			names = append(names, o.Name)
		}
		if sep := manyTimes[o.Name]; sep != "" && again {
			o.Value = was + sep + o.Value
		}
		values[o.Name] = o.Value
		several[o.Name] = again
	}
	for _, name := range names {
		if ofPlace[name] {
			continue
		}
		s := Setting{Name: name, Value: values[name]}
		if s.Why = r.refuses(name, s.Value); s.Why == "" && several[name] && slices.Contains(ofOneValue, name) {
			s.Why = "it is given several times, and the instance takes it once"
		}
		if s.Why != "" {
			left = append(left, s)
			continue
		}
		taken[name] = s.Value
		kept = append(kept, s)
	}
	return taken, kept, left
}

// refuses is why an option is not taken over, "" if it is.
func (r Rules) refuses(name, value string) string {
	for _, o := range ownReasons {
		if slices.Contains(o.names, name) {
			return o.why
		}
	}
	switch {
	case strings.ContainsAny(value, "\n\r\x00"):
		return "its value has a line break"
	case strings.HasPrefix(name, "replicate_"), strings.HasPrefix(name, "wsrep_"), strings.HasPrefix(name, "binlog_do"), strings.HasPrefix(name, "binlog_ignore"):
		return "about replication, of which the instance is no part"
	case strings.HasPrefix(name, "mysqlx"):
		return xProtocol
	case slices.Contains(files, name) && !r.Readable(value):
		return "the server of the instance may not read that file, which has an account of its own"
	case slices.Contains(logFiles, name) && filepath.IsAbs(value) && !r.Writable(filepath.Dir(value)):
		return "the server of the instance may not write there; the log is in its data directory"
	case filepath.IsAbs(value) && below(value, r.DataDir):
		return "it names a place in the old data directory"
	}
	if err := r.Check(name, value); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\nhint: ")
		return strings.TrimPrefix(text, fmt.Sprintf("use --set %s: ", name))
	}
	return ""
}

func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
