// Package handover writes what another server, or a cluster, wants to take over the data of an instance: statements,
// settings, manifests, and a page that says what to type. It only renders texts; who gives it a Plan has made the base and
// the account that they speak of.
package handover

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// Target is a kind of server that takes over.
type Target struct {
	// Name is what --to takes.
	Name string
	// Words say what it is.
	Words string
	// MariaDB and MySQL say of which flavour the instance may be.
	MariaDB, MySQL bool
	// Cluster says that it has several nodes, which take tables of InnoDB only.
	Cluster bool
	// NeedsKeys says that it takes no writes to a table without a primary key.
	NeedsKeys bool
}

// Targets are all that there are.
var Targets = []Target{
	{Name: "mysql", Words: "a plain MySQL or MariaDB server, of the instance's flavour", MariaDB: true, MySQL: true},
	{Name: "mariadb-cluster", Words: "MariaDB Galera Cluster", MariaDB: true, Cluster: true},
	{Name: "pxc", Words: "Percona XtraDB Cluster", MySQL: true, Cluster: true, NeedsKeys: true},
	{Name: "innodb-cluster", Words: "MySQL InnoDB Cluster (Group Replication)", MySQL: true, Cluster: true, NeedsKeys: true},
	{Name: "kubernetes", Words: "an operator's cluster in Kubernetes: mariadb-operator, or Oracle's or Percona's for MySQL", MariaDB: true, MySQL: true, Cluster: true},
}

// Names are those of all.
func Names() (names []string) {
	for _, t := range Targets {
		names = append(names, t.Name)
	}
	return names
}

// Find returns the target of a name. The error says which there are.
func Find(name string) (Target, error) {
	if i := slices.IndexFunc(Targets, func(t Target) bool { return t.Name == name }); i >= 0 {
		return Targets[i], nil
	}
	return Target{}, fmt.Errorf("no target %q\nhint: --to %s", name, strings.Join(Names(), ", --to "))
}

// Plan is what the texts say.
type Plan struct {
	// Instance is its name, and Target where to.
	Instance string
	Target   Target
	// Flavour is as its makers write it, Version and Series are the server's, and MariaDB says that it is one.
	Flavour, Version, Series string
	MariaDB                  bool
	// Host and Port are where the target finds the instance, User and AtHost the account, and Password its password.
	Host           string
	Port           int
	User, Password string
	AtHost         string
	// Encrypted says that the target speaks TLS with the instance, and Cert that the instance's certificate is there.
	Encrypted, Cert bool
	// Durable says that the instance is.
	Durable bool
	// File, Pos and GTIDs are where the log goes on behind the base.
	File  string
	Pos   int64
	GTIDs string
	// Accounts, Grants and Follow are statements.
	Accounts, Grants, Follow []string
	// Client is the name of the client program, and Replica what statements call a replica.
	Client, Replica string
	// ServerID is one for the target.
	ServerID uint32
	// LowerCase, Charset, Collation and SQLMode are settings of the instance that the data depends on.
	LowerCase, Charset, Collation, SQLMode string
	// Bytes is how much the data takes.
	Bytes int64
	// Events are those that run at the instance.
	Events []string
	// Notes are what there is to heed.
	Notes []string
	// RootPassword is for a cluster that is made by a manifest.
	RootPassword string
}

// Names of files that others fill, or speak of.
const (
	BaseFile = "2-base.sql"
	CertFile = "source-cert.pem"
	ReadMe   = "README.md"
)

// Kube is the instance's name as Kubernetes takes one.
func (p Plan) Kube() string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(p.Instance)), "-")
}

// File is one to be written.
type File struct{ Name, Text string }

//go:embed templates
var templates embed.FS

// Files renders the texts.
func (p Plan) Files() (list []File, err error) {
	t, err := template.New("").Funcs(template.FuncMap{"gibibytes": gibibytes, "ini": ini}).ParseFS(templates, "templates/*")
	if err != nil {
		return nil, err
	}
	names := map[string]string{
		"1-accounts.sql": "accounts.sql", "3-grants.sql": "grants.sql", "4-follow.sql": "follow.sql", "position": "position", "target.cnf": "target.cnf", ReadMe: "readme.md",
	}
	switch {
	case p.Target.Name != "kubernetes":
	case p.MariaDB:
		names["mariadb-operator.yaml"] = "mariadb-operator.yaml"
	default:
		names["mysql-operator.yaml"], names["percona-operator.yaml"] = "mysql-operator.yaml", "percona-operator.yaml"
	}
	for name, from := range names {
		var b strings.Builder
		if err := t.ExecuteTemplate(&b, from, p); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		list = append(list, File{name, b.String()})
	}
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// gibibytes is a size of a volume for data of so many bytes, three times as much, and 10 at least.
func gibibytes(bytes int64) int64 { return max(10, 3*bytes>>30+1) }

// ini quotes a value of an option file.
func ini(value string) string { return `"` + value + `"` }
