package server

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Config is what one start of a server is configured by.
type Config struct {
	Stage Stage
	// Volume is the kind of volume that the data lies in: shm, xfs, disk, ...
	Volume string
	// DataDir is the data directory. RunDir holds socket, pid file and what else
	// belongs to one run; it must be short enough for a socket path (see SocketPath).
	DataDir, RunDir, TmpDir string
	// Socket is the path of the Unix socket; "" is SocketPath of RunDir.
	Socket string
	// TempInTmpDir has InnoDB's temporary tables in TmpDir also where the server keeps them elsewhere.
	TempInTmpDir bool
	// FilesDir is the directory of LOAD DATA INFILE and INTO OUTFILE; "" is TmpDir.
	FilesDir string
	// Unconfined lets the server reach whatever its account may.
	Unconfined bool
	// InitFile is a file of statements run at each start, or "".
	InitFile string
	// Port is the TCP port; 0 is none at all. Bind is the address; "" is 127.0.0.1.
	Port int
	Bind string
	// ServerID is the server's number in binary logs; 0 is 1.
	ServerID uint32
	// NoLog is a server that keeps no binary log, so that nothing can be reset.
	NoLog bool
	// Replica is a server that follows another, Sync one that acknowledges what it has received, and Remote one whose
	// source is none of ours, or on another machine.
	Replica, Sync, Remote bool
	// Parted is a server whose data is that of a replica.
	Parted bool
	// Member is the cluster that the server belongs to, nil for none.
	Member *Member
	// Durability is what a power failure may take; "" is InRAM.
	Durability Durability
	// MostPool is how many bytes the buffer pool may grow to while the server runs; 0 says nothing.
	MostPool int64
	// ReplayPool is how many bytes the buffer pool of a Replay has, at least leastReplayPool.
	ReplayPool int64
	// Serial has the applier of a Replay do one transaction after the other.
	Serial bool
	// Untorn says that pages on a disk do not tear: no doublewrite buffer, and no page cache, through which a kill
	// tears them. See Server.Untorn.
	Untorn bool
	// PageSize is InnoDB's page size in bytes; 0 is the server's default.
	PageSize int
	// Set holds the user's own settings (--set), by name.
	Set map[string]string
}

// SocketPath returns the path of the server's Unix socket below a run directory.
func SocketPath(runDir string) string { return filepath.Join(runDir, "server.sock") }

// CertPath and KeyPath are the TLS certificate and key in a run directory.
func CertPath(runDir string) string { return filepath.Join(runDir, "cert.pem") }

// KeyPath is the key that belongs to CertPath.
func KeyPath(runDir string) string { return filepath.Join(runDir, "key.pem") }

// rsaKeyPath and rsaPublicPath are the RSA key in a run directory.
func rsaKeyPath(runDir string) string    { return filepath.Join(runDir, "rsa.pem") }
func rsaPublicPath(runDir string) string { return filepath.Join(runDir, "rsa-public.pem") }

// RelayLog is the path of the relay log of a Replay, below its tmpdir: of its files but for the
// number behind the dot, and of its index but for ".index".
// https://dev.mysql.com/doc/refman/en/replication-channels-files.html
func (s *Server) RelayLog(tmpDir string) string {
	path := relayLog(tmpDir)
	if channel := s.Dialect().Applier.Channel; channel != "" {
		path += "-" + channel
	}
	return path
}

func relayLog(tmpDir string) string { return filepath.Join(tmpDir, "relay", "relay") }

// Render returns the option file of one start: every line under its reason. It
// fails on a --set that Ramaria itself relies on.
func (s *Server) Render(c Config) (string, error) {
	c.Set = Usable(c.Set)
	if err := s.CheckSet(c.Set, c.NoLog, c.Durability); err != nil {
		return "", err
	}
	if c.Stage == Replay {
		c.Set = s.withoutLog(c.Set)
	}
	c.Set = s.withoutRelied(c)
	facts := c.facts(s)
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by ramaria for %s %s at each start; change settings with --set.\n[%sd]\n", s.Flavour, s.Version, s.Flavour)
	seen := map[string]bool{}
	for _, r := range s.Family().profile {
		if !r.applies(s.Version, c.Stage, c.Volume, cmp.Or(c.Durability, InRAM), c.NoLog) || r.untorn == ifTorn && c.Untorn || r.untorn == ifUntorn && !c.Untorn || !r.replica.of(c) {
			continue
		}
		if _, taken := Setting(c.Set, r.unless); taken {
			continue
		}
		value, why := r.value, r.why
		fact, isFact := facts[value]
		if isFact {
			value = fact
		}
		seen[r.name] = true
		if v, ok := c.Set[r.name]; ok {
			value, why = v, "set by --set"
		} else if isFact && fact == "" {
			continue
		}
		line, err := optionLine(r.name, value)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n# %s\n%s\n", why, line)
	}
	for _, name := range sortedKeys(c.Set) {
		if seen[name] || c.Stage == Bootstrap && !shaping[name] {
			continue
		}
		line, err := optionLine(name, c.Set[name])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n# set by --set\n%s\n", line)
	}
	return b.String(), nil
}

// leastReplayPool is the smallest buffer pool of a Replay, in bytes.
const leastReplayPool = 256 << 20

// logWords begin the names of options about logs and replication, and notReplayed are others that a Replay
// has its own for, or no use.
var (
	logWords    = []string{"binlog_", "encrypt_binlog", "gtid_", "log_bin", "log_replica_", "log_slave_", "max_binlog_", "max_relay_", "relay_", "replica_", "replicate_", "report_", "rpl_", "slave_", "source_", "master_", "sync_", "wsrep_", "group_replication_", "expire_logs_"}
	notReplayed = map[string]bool{"tx_isolation": true, "tx_read_only": true, "event_scheduler": true, "read_only": true, "super_read_only": true, "init_connect": true, "init_slave": true, "init_replica": true, "max_connections": true, "server_id": true, "innodb_flush_log_at_trx_commit": true, "innodb_doublewrite": true, "innodb_fast_shutdown": true, "innodb_buffer_pool_size": true}
)

// withoutLog are the settings that a Replay takes over: not those that it has its own for, and nobody else.
func (s *Server) withoutLog(set map[string]string) map[string]string {
	set = maps.Clone(set)
	maps.DeleteFunc(set, func(name, _ string) bool {
		name = optionMeant(name)
		return notReplayed[name] || slices.ContainsFunc(logWords, func(word string) bool { return strings.HasPrefix(name, word) }) ||
			slices.ContainsFunc(s.Family().profile, func(r setting) bool { return r.stages == Replay && optionMeant(r.name) == name })
	})
	return set
}

// Settings are the options of a start on a kind of volume that are the same wherever it is on this machine, as
// name=value, in the order of the option file.
func (s *Server) Settings(stage Stage, volume string) []string {
	var list []string
	for _, r := range s.Family().profile {
		if r.applies(s.Version, stage, volume, InRAM, false) && r.replica.of(Config{}) && !strings.HasPrefix(r.value, "{") {
			list = append(list, r.name+"="+r.value)
		}
	}
	return list
}

// optionLine writes one line of an option file, quoted as the manual has it
// (https://mariadb.com/kb/en/configuring-mariadb-with-option-files/).
func optionLine(name, value string) (string, error) {
	if strings.ContainsAny(value, "\n\r\x00") {
		return "", fmt.Errorf("render option %s: its value has a line break", name)
	}
	if name == "log_bin" && value == "OFF" {
		return "skip_log_bin", nil
	}
	if value == "" || strings.ContainsAny(value, " \t#;\"'\\") {
		value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
	}
	return name + " = " + value, nil
}

// tempData is the file of InnoDB's temporary tables in TmpDir, "" if it is where the server has it. Its path is relative
// to the data directory: MariaDB takes no other.
func (c Config) tempData() string {
	if !c.TempInTmpDir {
		return ""
	}
	rel, err := filepath.Rel(c.DataDir, filepath.Join(c.TmpDir, "ibtmp1"))
	if err != nil {
		return ""
	}
	return rel + ":1M:autoextend"
}

func (c Config) facts(s *Server) map[string]string {
	f := map[string]string{
		factDataDir:         c.DataDir,
		factSocket:          cmp.Or(c.Socket, SocketPath(c.RunDir)),
		factPidFile:         filepath.Join(c.RunDir, "server.pid"),
		factTmpDir:          c.TmpDir,
		factFiles:           cmp.Or(c.FilesDir, c.TmpDir),
		factInitFile:        c.InitFile,
		factBind:            c.Bind,
		factPort:            "",
		factPrivate:         "",
		factMessages:        s.Messages,
		factCharsets:        s.Charsets,
		factPlugins:         s.Plugins,
		factCert:            CertPath(c.RunDir),
		factKey:             KeyPath(c.RunDir),
		factRSAKey:          rsaKeyPath(c.RunDir),
		factRSA:             rsaPublicPath(c.RunDir),
		factPageSize:        "",
		factTempTablespaces: filepath.Join(c.TmpDir, tempTablespaces),
		factTempData:        c.tempData(),
		factRelayLog:        relayLog(c.TmpDir),
		factRelayIndex:      relayLog(c.TmpDir) + ".index",
		factRelayInfo:       relayLog(c.TmpDir) + ".info",
		factSourceInfo:      filepath.Join(filepath.Dir(relayLog(c.TmpDir)), "source.info"),

		factServerID: strconv.FormatUint(uint64(max(1, c.ServerID)), 10),
	}
	switch {
	case c.Port == 0:
		f[factPrivate], f[factBind] = "ON", ""
	case c.Bind == "":
		f[factBind] = Loopback
	}
	if c.Port > 0 {
		f[factPort] = strconv.Itoa(c.Port)
	}
	maps.Copy(f, c.Member.facts(s, c))
	f[factMostPool] = ""
	if c.MostPool > 0 {
		f[factMostPool] = strconv.FormatInt(c.MostPool, 10)
	}
	f[factReplayPool] = strconv.FormatInt(max(c.ReplayPool, leastReplayPool), 10)
	f[factReplayWorkers] = "16"
	if c.Serial {
		f[factReplayWorkers] = "1"
	}
	if c.PageSize > 0 {
		f[factPageSize] = strconv.Itoa(c.PageSize)
	}
	return f
}

// shaping names the options beyond the profile's that are built into the files,
// so that images made with different values are different images.
var shaping = map[string]bool{
	"character_set_server": true, "collation_server": true, "character_set_collations": true,
	"default_storage_engine": true, "default_time_zone": true, "explicit_defaults_for_timestamp": true,
	"innodb_checksum_algorithm": true, "innodb_compression_algorithm": true, "innodb_compression_default": true,
	"innodb_data_file_path": true, "innodb_default_row_format": true, "innodb_file_per_table": true,
	"innodb_page_size": true, "innodb_strict_mode": true,
	"innodb_undo_tablespaces": true, "lower_case_table_names": true, "old_mode": true, "sql_mode": true,
}

// Shape returns the settings, as sorted name=value lines, that shape the files of
// an image made by this server: the profile's and the user's.
func (s *Server) Shape(set map[string]string) []string {
	values := map[string]string{}
	for _, r := range s.Family().profile {
		if r.shapes && r.applies(s.Version, Build, "", InRAM, false) && !strings.HasPrefix(r.value, "{") {
			values[r.name] = r.value
		}
	}
	for name, v := range set {
		if shaping[name] {
			values[name] = v
		}
	}
	var lines []string
	for _, name := range sortedKeys(values) {
		lines = append(lines, name+"="+values[name])
	}
	return lines
}

// ShapingOf returns those of the user's settings, as sorted name=value lines, without which no server starts on files
// that were made with them.
func ShapingOf(set map[string]string) []string {
	var lines []string
	for _, name := range sortedKeys(set) {
		if shaping[name] {
			lines = append(lines, name+"="+set[name])
		}
	}
	return lines
}
