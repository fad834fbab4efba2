package server

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// systemSoftware is where systems keep programs and libraries, for a server that uses theirs.
var systemSoftware = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew",
}

// systemFiles are what the loader, the C library and OpenSSL read, and facts about the machine. Of
// /proc a confined process sees names and figures of others, but neither memory nor environment:
// landlock(7), "ptrace restrictions". /proc/self cannot be named before the process is there.
var systemFiles = []string{
	"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/usr/share/zoneinfo",
	"/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
	"/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/pki", "/etc/crypto-policies",
	"/dev/urandom", "/dev/random", "/proc", "/sys",
}

// writtenBySet are the options of --set that name what a server writes to.
var writtenBySet = map[string]bool{
	"general_log_file": true, "slow_query_log_file": true, "log_slow_query_file": true, "log_error": true, "server_audit_file_path": true, "audit_log_file": true,
	"secure_file_priv": true, "innodb_tmpdir": true, "innodb_temp_tablespaces_dir": true, "slave_load_tmpdir": true, "replica_load_tmpdir": true, "keyring_file_data": true,
	"relay_log": true, "relay_log_index": true, "relay_log_info_file": true, "log_bin_index": true,
}

// WrittenBySet reports whether an option of --set names a file or a directory that the server writes to, as a log.
func WrittenBySet(name string) bool { return writtenBySet[optionMeant(name)] }

// ruleset is what the server of a start may reach, with its option file at config: its own
// directories, its software, what that needs of the system, and what the user has named by --set.
func (s *Server) ruleset(config string, c Config) sys.Ruleset {
	r := sys.Ruleset{
		ReadWrite: []string{c.DataDir, c.RunDir, c.TmpDir, os.DevNull},
		ReadOnly:  append(append([]string{config}, systemFiles...), s.software()...),
		Ports:     []int{},
	}
	for _, path := range []string{c.InitFile, strings.TrimPrefix(os.Getenv("TZ"), ":")} {
		if filepath.IsAbs(path) {
			r.ReadOnly = append(r.ReadOnly, path)
		}
	}
	if c.Socket != "" {
		r.ReadWrite = append(r.ReadWrite, filepath.Dir(c.Socket))
	}
	if c.FilesDir != "" {
		r.ReadWrite = append(r.ReadWrite, c.FilesDir)
	}
	if m := c.Member; m != nil && m.Script != "" { // which the server runs by a shell
		r.ReadOnly = append(append(r.ReadOnly, filepath.Dir(m.Script)), systemSoftware...)
		r.ReadWrite = append(r.ReadWrite, m.Meet)
	}
	if c.Port > 0 {
		r.Ports = append(r.Ports, c.Port)
	}
	anyPort := c.Member != nil
	for name, value := range c.Set {
		name = optionMeant(name)
		if port, err := strconv.Atoi(value); err == nil && port > 0 && strings.HasSuffix(name, "_port") {
			r.Ports = append(r.Ports, port) // extra_port, admin_port
		}
		// These say their port within an address, or take a default.
		anyPort = anyPort || strings.HasPrefix(name, "wsrep_") || strings.HasPrefix(name, "group_replication_")
		for _, path := range namedPaths(value) {
			if writtenBySet[name] {
				r.ReadWrite = append(r.ReadWrite, fileOrDir(path))
			} else {
				r.ReadOnly = append(r.ReadOnly, path)
			}
		}
	}
	if anyPort {
		r.Ports = nil
	}
	return r
}

// namedPaths returns the absolute paths in the value of an option: one, or a list, or FILE:/PATH.
func namedPaths(value string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune(":;,", c) }),
		func(s string) bool { return !filepath.IsAbs(s) })
}

// fileOrDir is path if there is something, else the directory in which it is to be made.
func fileOrDir(path string) string {
	if _, err := os.Stat(path); err != nil {
		return filepath.Dir(path)
	}
	return path
}

// software is where the server's own files lie. Of one that a user has installed somewhere it is no
// more than what is known to belong to it: the directory above may be a home.
func (s *Server) software() []string {
	switch {
	case s.Origin == OriginPath:
	case len(s.Daemon.Argv) > 1: // a loader of its own, with the libraries beside it
		return []string{s.Dir}
	default:
		return append([]string{s.Dir}, systemSoftware...)
	}
	parts := []string{s.Share, s.Messages, s.Charsets, s.Plugins}
	if real, err := filepath.EvalSymlinks(s.Daemon.Path()); err == nil {
		prefix := filepath.Dir(filepath.Dir(real))
		parts = append(parts, real, filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64"))
	}
	return append(slices.DeleteFunc(parts, func(dir string) bool { return dir == "" }), systemSoftware...)
}

// confinement is the ruleset for a start, nil if it is not to be confined, or cannot be.
func (s *Server) confinement(config string, c Config) *sys.Ruleset {
	if c.Unconfined || Unconfinable() != "" {
		return nil
	}
	r := s.ruleset(config, c)
	return &r
}

// Unconfinable says why servers cannot be confined on this machine, "" if they are.
func Unconfinable() string {
	switch version := sys.Landlock(); {
	case version == 0:
		return "the kernel has no Landlock, or it is switched off"
	case version < sys.LeastLandlock:
		return "the kernel's Landlock is older than that of Linux 5.19"
	}
	return ""
}
