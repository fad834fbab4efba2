package handover_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/handover"
)

var update = flag.Bool("update", false, "write the golden files")

// plan is what a hand-over of a small instance says.
func plan(target handover.Target, mariadb bool) handover.Plan {
	p := handover.Plan{
		Instance: "Shop_1", Target: target, Flavour: "MySQL", Version: "9.7.4", Series: "9.7", MariaDB: mariadb, Host: "db1.example.com", Port: 3307, User: "ramaria_handover_1", Password: "pw-follow", AtHost: "%",
		Encrypted: !mariadb, Cert: !mariadb, File: "ramaria-bin.000002", Pos: 1234, Accounts: []string{"CREATE USER IF NOT EXISTS `app`@`%`"}, Grants: []string{"GRANT ALL ON *.* TO `app`@`%`"}, Follow: []string{"CHANGE", "START"},
		Client: "mysql", Replica: "REPLICA", ServerID: 77, LowerCase: "0", Charset: "utf8mb4", Collation: "utf8mb4_bin", SQLMode: "ANSI_QUOTES,NO_ZERO_DATE", Bytes: 20 << 30, Events: []string{"shop.e", "shop.f"}, Notes: []string{"A note."},
	}
	if target.Name == "kubernetes" {
		p.RootPassword = "pw-root"
	}
	if mariadb {
		p.Flavour, p.Version, p.Series, p.Client, p.Replica, p.GTIDs, p.Durable = "MariaDB", "10.11.19", "10.11", "mariadb", "SLAVE", "0-1-5", true
	}
	return p
}

// TestFiles compares what is written for each target with golden files.
func TestFiles(t *testing.T) {
	for _, target := range handover.Targets {
		for flavour, is := range map[string]bool{"mariadb": target.MariaDB, "mysql": target.MySQL} {
			if !is {
				continue
			}
			p := plan(target, flavour == "mariadb")
			files, err := p.Files()
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, f := range files {
				b.WriteString("-- " + f.Name + " --\n" + f.Text)
				passwords := strings.Contains(f.Text, p.Password) || p.RootPassword != "" && strings.Contains(f.Text, p.RootPassword)
				if passwords && !strings.HasSuffix(f.Name, ".yaml") {
					t.Errorf("%s for %s has a password", f.Name, target.Name)
				}
			}
			golden := filepath.Join("testdata", target.Name+"-"+flavour+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil { // #nosec G306 -- of the tree
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", golden, diff)
			}
		}
	}
}

// TestFind knows all, and says which there are.
func TestFind(t *testing.T) {
	for _, name := range handover.Names() {
		if got, err := handover.Find(name); err != nil || got.Name != name {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := handover.Find("oracle"); err == nil || !strings.Contains(err.Error(), "--to innodb-cluster") {
		t.Errorf("oracle: %v", err)
	}
}
