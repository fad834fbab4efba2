package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Member is what a start of a server has to know of the cluster that it belongs to.
type Member struct {
	// Cluster is the name of the cluster, Group its UUID, and Node the name of this member.
	Cluster, Group, Node string
	// Number is that of the member, from 1 on.
	Number int
	// Host is the address that the other members reach this one at, on the server's own port and on these.
	Host  string
	Ports MemberPorts
	// Peers are the addresses, HOST:PORT, at which the members of the cluster speak to each other, this one's among them.
	Peers []string
	// Begins has the server begin the cluster: no other member of it runs.
	Begins bool
	// Apart has the server keep what makes it a member, and reach no other.
	Apart bool
	// Script is the program, in a directory of its own that the server cannot write to, by which members of Galera agree
	// that nothing is to be copied, and Meet the directory in which they do.
	Script, Meet string
	// Network is the file of the network namespace that its server runs in, "" for the machine's own.
	Network string
}

// MemberPorts are the TCP ports of a member of Galera besides the server's own: those of the group, of write sets that one
// who joins lacks, and of state transfers. Group Replication speaks on the server's own.
type MemberPorts struct {
	Group    int `json:"group,omitempty"`
	Transfer int `json:"transfer,omitempty"`
	State    int `json:"state,omitempty"`
}

// ClusterKeyPath is the key in a run directory by which members of a cluster know each other, and ClusterCertPath the
// certificate, which all of them have.
func ClusterKeyPath(runDir string) string { return filepath.Join(runDir, "cluster-key.pem") }

// ClusterCertPath is beside ClusterKeyPath.
func ClusterCertPath(runDir string) string { return filepath.Join(runDir, "cluster-cert.pem") }

// galeraPaths are where Galera's library is in installed software, below the prefix of the daemon.
var galeraPaths = []string{"lib/libgalera_smm.so", "lib/galera/libgalera_smm.so", "lib64/galera/libgalera_smm.so", "lib64/galera-4/libgalera_smm.so", "lib/galera-4/libgalera_smm.so"}

// installedPrefix is where the distribution has it; tests of what is written for a server have none.
var installedPrefix = "/usr"

// groupPlugin is the plugin of Group Replication.
const groupPlugin = "group_replication.so"

// Provider is the library that makes clusters of this server: Galera's, or the plugin of Group Replication. It is
// ErrNoProvider where the software has none.
func (s *Server) Provider() (string, error) {
	var tried []string
	if s.Flavour == MySQL {
		if s.Plugins != "" {
			tried = append(tried, filepath.Join(s.Plugins, groupPlugin))
		}
	} else {
		for _, prefix := range []string{filepath.Join(s.Dir, "usr"), s.Dir, filepath.Dir(filepath.Dir(s.Daemon.Path())), installedPrefix} {
			for _, path := range galeraPaths {
				tried = append(tried, filepath.Join(prefix, path))
			}
		}
	}
	for _, path := range tried {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find what makes clusters: %w", err)
		}
	}
	what, pkg := "Galera's library (libgalera_smm.so)", "galera-4"
	if s.Flavour == MySQL {
		what, pkg = "the plugin group_replication.so", "MySQL's own packages"
	}
	return "", fmt.Errorf("make a cluster of %s: it lacks %s: %w\nhint: install %s, or take the software that ramaria fetches (--server %s:%s)", s.Name(), what, ErrNoProvider, pkg, s.Flavour, s.Version.Series())
}

// ErrNoProvider says that a server was found without what makes clusters.
var ErrNoProvider = errors.New("no cluster can be made of it")

// CheckMemberSet refuses settings that members of clusters rely on.
func (s *Server) CheckMemberSet(set map[string]string) error {
	for _, name := range sortedKeys(set) {
		if s.reliedAs(Config{Member: &Member{}}, name) {
			return fmt.Errorf("use --set %s: members of a cluster rely on their own value\nhint: leave it out", name)
		}
	}
	return nil
}

// MemberSet are the settings that a member takes over of a cluster, which may be from before some were refused.
func (s *Server) MemberSet(set map[string]string) map[string]string {
	return s.withoutRelied(Config{Member: &Member{}, Set: set})
}

// facts are those of a member; without one they are empty.
func (m *Member) facts(s *Server, c Config) map[string]string {
	f := map[string]string{}
	for _, name := range memberFacts {
		f[name] = ""
	}
	if m == nil {
		return f
	}
	at := func(port int) string { return net.JoinHostPort(m.Host, strconv.Itoa(port)) }
	f[factCluster], f[factGroup], f[factNode], f[factMemberHost] = m.Cluster, m.Group, m.Node, m.Host
	f[factMemberPort], f[factIncoming] = strconv.Itoa(c.Port), at(c.Port)
	f[factMemberDomain] = strconv.Itoa(memberDomain + m.Number)
	f[factSeeds] = strings.Join(m.Peers, ",")
	f[factGroupAddress], f[factStateAddress] = at(m.Ports.Group), at(m.Ports.State)
	f[factClusterAddress] = "gcomm://"
	if !m.Begins {
		f[factClusterAddress] += f[factSeeds]
	}
	switch s.Flavour {
	case MySQL: // whose members speak on the port that applications use
		f[factCert], f[factKey], f[factClusterCert] = ClusterCertPath(c.RunDir), ClusterKeyPath(c.RunDir), ClusterCertPath(c.RunDir)
	case MariaDB:
		f[factProvider], _ = s.Provider() // whoever makes a cluster has looked
		f[factProviderOptions] = strings.Join([]string{
			"gmcast.listen_addr=ssl://" + at(m.Ports.Group), "ist.recv_addr=" + at(m.Ports.Transfer),
			"gcache.size=" + strconv.Itoa(galeraCache), "gcache.recover=yes", "pc.recovery=false",
			"socket.ssl=yes", "socket.ssl_key=" + ClusterKeyPath(c.RunDir), "socket.ssl_cert=" + ClusterCertPath(c.RunDir), "socket.ssl_ca=" + ClusterCertPath(c.RunDir),
		}, ";")
	}
	return f
}

// memberDomain is what the numbers of members are added to, for the domain of what a member does that no other gets.
const memberDomain = 100

// galeraCache is how much a member of Galera keeps for others that were away, in bytes: it maps a file of that size, and pages
// of 128 MB for what is larger.
const galeraCache = 128 << 20

// maps is the size in bytes from which a member's server may map files: its cache, and not its redo log.
func (m *Member) maps() uint32 {
	if m == nil {
		return 0
	}
	return galeraCache
}

// enterNetwork has the calling thread, and the server that it starts, be in the member's network.
func (m *Member) enterNetwork() error {
	if m == nil || m.Network == "" {
		return nil
	}
	err := sys.EnterNetwork(m.Network)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w\nhint: ramaria cluster up %s makes it again", err, m.Cluster)
	}
	return err
}

// environ is the environment of a member's server.
func (m *Member) environ(env []string) []string {
	if m == nil || m.Script == "" {
		return env
	}
	env = slices.Clone(env)
	for i, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			env[i] = "PATH=" + filepath.Dir(m.Script) + ":" + path
		}
	}
	return env
}
