package verify

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// packaged is the directory of the files that run a verification every day.
func packaged(name string) string { return filepath.Join("..", "..", "packaging", "verify", name) }

// TestUnits has systemd read the service and the timer, and a service with an error.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED, UNTESTED: whether systemd takes the units, since there is no systemd-analyze")
	}
	said := func(change func(string) string) string {
		dir := t.TempDir()
		for _, name := range []string{"ramaria-verify@.service", "ramaria-verify@.timer"} {
			text, err := os.ReadFile(packaged(name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, strings.Replace(name, "@", "@shop", 1)), []byte(change(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var lines []string
		for _, kind := range []string{".service", ".timer"} {
			out, _ := exec.Command("systemd-analyze", "verify", filepath.Join(dir, "ramaria-verify@shop"+kind)).CombinedOutput() // #nosec G204 -- a test's own file
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "ramaria-verify@shop") && !strings.Contains(line, "is not executable") {
					lines = append(lines, line)
				}
			}
		}
		return strings.Join(lines, "")
	}
	if out := said(func(s string) string { return s }); out != "" {
		t.Error(out)
	}
	if out := said(func(s string) string { return strings.Replace(s, "StateDirectory=", "StateDirectoy=", 1) }); out == "" {
		t.Error("it passes a setting that does not exist")
	}
}

// TestServiceCommand runs the command of the service with a ramaria that prints its arguments.
func TestServiceCommand(t *testing.T) {
	text, err := os.ReadFile(packaged("ramaria-verify@.service"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "ExecStart=/bin/sh -c '")
	script, _, _ := strings.Cut(line, "'\n")
	script = strings.NewReplacer("$$", "$", "%i", "shop", "exec /usr/bin/ramaria", "printf '<%s>'").Replace(script)
	dir := t.TempDir()
	for i, name := range []string{"shop-2.sql", "shop-3.sql", "shop-1.sql"} {
		path := filepath.Join(dir, name)
		at := time.Unix(int64(1e9+i), 0)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{"shop-*.sql": "shop-1.sql", "none-*.sql": "none-*.sql"} {
		cmd := exec.Command("/bin/sh", "-c", script) // #nosec G204 -- the project's own
		cmd.Env = []string{"PATH=/usr/bin:/bin", "BACKUP=" + dir + "/" + pattern, "METRICS=/m", "MAX_AGE=26h", "STATE_DIRECTORY=/s", "OPTIONS=--max-shrink 50"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		all := "<verify><" + dir + "/" + want + "><--against></s/shop.json><--save></s/shop.json><--max-age><26h><--textfile></m/ramaria-verify-shop.prom><--max-shrink><50>"
		if d := cmp.Diff(all, string(out)); d != "" {
			t.Error(d)
		}
	}
}

// TestCronJob reads the CronJob: what it mounts is there, and backups are mounted read-only.
func TestCronJob(t *testing.T) {
	text, err := os.ReadFile(packaged("cronjob.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		APIVersion string         `yaml:"apiVersion"`
		Kind       string         `yaml:"kind"`
		Metadata   map[string]any `yaml:"metadata"`
		Spec       struct {
			Schedule                string `yaml:"schedule"`
			ConcurrencyPolicy       string `yaml:"concurrencyPolicy"`
			FailedJobsHistoryLimit  int    `yaml:"failedJobsHistoryLimit"`
			SuccessfulJobsHistoryLi int    `yaml:"successfulJobsHistoryLimit"`
			JobTemplate             struct {
				Spec struct {
					BackoffLimit *int `yaml:"backoffLimit"`
					Template     struct {
						Spec struct {
							RestartPolicy   string         `yaml:"restartPolicy"`
							SecurityContext map[string]any `yaml:"securityContext"`
							Containers      []struct {
								Name, Image   string
								Command, Args []string
								Resources     map[string]map[string]string
								VolumeMounts  []struct {
									Name      string
									MountPath string `yaml:"mountPath"`
									ReadOnly  bool   `yaml:"readOnly"`
								} `yaml:"volumeMounts"`
							}
							Volumes []map[string]any
						}
					}
				}
			} `yaml:"jobTemplate"`
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "CronJob" || len(pod.Containers) != 1 || pod.RestartPolicy != "Never" || *job.Spec.JobTemplate.Spec.BackoffLimit != 0 {
		t.Errorf("it is no job that fails once: %+v", job)
	}
	var volumes []string
	for _, v := range pod.Volumes {
		volumes = append(volumes, v["name"].(string))
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		if !slices.Contains(volumes, m.Name) {
			t.Errorf("volume %s is not there", m.Name)
		}
		if m.Name == "backup" && !m.ReadOnly {
			t.Error("it can write to the backups")
		}
	}
}

// TestPromtool has promtool, of Debian's package prometheus, check the alert rules and the metrics.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED, UNTESTED: alert rules and metrics, since there is no promtool")
	}
	if out, err := exec.Command(promtool, "check", "rules", packaged("ramaria-verify-alerts.yml")).CombinedOutput(); err != nil { // #nosec G204 -- of PATH
		t.Errorf("%v\n%s", err, out)
	}
	at := time.Unix(1764470000, 0)
	cmd := exec.Command(promtool, "check", "metrics") // #nosec G204 -- of PATH
	cmd.Stdin = strings.NewReader((&Report{Status: Good, LastChange: &at}).Metrics("shop"))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestJSON is the contract of docs/json.md: names stay, and each is documented.
func TestJSON(t *testing.T) {
	at := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	b, err := json.Marshal(Report{
		Format: Format, Backup: "shop.sql", Kind: "dump", Status: Faulty, Error: "e", Server: "mariadb-11.8.9", MadeBy: "MariaDB 11.8.9", Verified: at,
		RestoreSeconds: 1.5, CheckSeconds: 0.5, LastChange: &at, LastChangeBy: "the dump's last line", Rows: 2,
		Tables: []Table{{"shop", "item", "InnoDB", 2, "17", "ab", true}}, Objects: []Object{{"view", "shop", "v"}},
		Problems: []Finding{{Check, "shop.item", "t"}}, Changes: []Finding{{Kind: Same, Text: "t"}}, Notes: []Finding{}, Against: &Against{"old.sql", at, 1, 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"format":1,"backup":"shop.sql","kind":"dump","status":"faulty","error":"e","server":"mariadb-11.8.9","made_by":"MariaDB 11.8.9","verified":"2026-11-30T03:00:00Z",` +
		`"restore_seconds":1.5,"check_seconds":0.5,"last_change":"2026-11-30T03:00:00Z","last_change_by":"the dump's last line","rows":2,` +
		`"tables":[{"database":"shop","name":"item","engine":"InnoDB","rows":2,"checksum":"17","schema":"ab","unread":true}],"objects":[{"kind":"view","database":"shop","name":"v"}],` +
		`"problems":[{"kind":"check","object":"shop.item","text":"t"}],"changes":[{"kind":"same","text":"t"}],"notes":[],"against":{"backup":"old.sql","verified":"2026-11-30T03:00:00Z","rows":1,"tables":1}}`
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Error(d)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	_, text, _ = strings.Cut(text, "**`verify --json`**")
	text, _, _ = strings.Cut(text, "**`doctor --json`**")
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	for name := range fields {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/json.md does not know %s", name)
		}
	}
	for _, kind := range []Kind{Check, Unreadable, ServerDied, Unchecked, BrokenView, MissingParent, Orphans, Empty, TooOld, Vanished, Emptied, Shrunk, Older, Same, Schema, Content, New, MissingDefiner, NearlyFull, Warning, Skipped} {
		if !strings.Contains(text, "`"+string(kind)+"`") {
			t.Errorf("docs/json.md does not know the kind %s", kind)
		}
	}
}
