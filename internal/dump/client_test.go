package dump

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// clientVariable holds the command, its arguments separated by spaces, that
// reaches a real server as the mariadb client, for instance
// "mariadb --no-defaults -S /tmp/s.sock -uroot test".
const clientVariable = "RAMARIA_TEST_CLIENT"

// client runs the real client over a dump and returns the statements it sent.
func client(t *testing.T, dump []byte) []string {
	t.Helper()
	args := append(strings.Fields(os.Getenv(clientVariable)), "--binary-mode", "--force", "--verbose", "--default-character-set=utf8mb4")
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Stdin = bytes.NewReader(dump)
	out, err := cmd.Output() // the statements fail, and nobody minds
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	var sent []string
	const dashes = "--------------\n"
	for _, part := range strings.Split(string(out), "\n"+dashes+"\n") {
		if _, statement, ok := strings.Cut("\n"+part, "\n"+dashes); ok {
			sent = append(sent, statement)
		}
	}
	return sent
}

var marker = regexp.MustCompile(`m\d+`)

// TestClientAgrees compares the Scanner with a real client, which drops comments.
func TestClientAgrees(t *testing.T) {
	if os.Getenv(clientVariable) == "" {
		t.Skipf("SKIPPED: no real client to compare with: set %s", clientVariable)
	}
	compared := 0
	compare := func(t *testing.T, in []byte) {
		all, err := scan(bytes.NewReader(in))
		if err != nil {
			return
		}
		compared += len(all)
		sent, got := client(t, in), texts(all)
		if len(sent) != len(got) {
			t.Fatalf("%q:\nclient sent %q\nscanner has %q", in, sent, got)
		}
		for i := range sent {
			inside := marker.FindAllString(got[i], -1)
			for _, m := range marker.FindAllString(sent[i], -1) {
				if !slices.Contains(inside, m) {
					t.Errorf("%q:\nclient sent %q\nscanner has %q", in, sent[i], got[i])
				}
			}
		}
	}
	for _, c := range splits {
		if strings.HasPrefix(c.in, "/*M!999999") {
			continue // the client sends its comment along
		}
		t.Run(c.name, func(t *testing.T) { compare(t, []byte(c.in)) })
	}
	t.Run("random", func(t *testing.T) {
		for seed := range uint64(4000) {
			compare(t, randomDump(rand.New(rand.NewPCG(seed, 2)), int(5+seed%40)))
		}
		if compared < 1000 {
			t.Errorf("only %d statements were compared", compared)
		}
	})
}
