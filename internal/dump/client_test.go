package dump

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// client runs the real client over a dump and returns the statements it sent.
func client(t *testing.T, srv *servertest.Running, dump []byte) []string {
	t.Helper()
	args := append(slices.Clone(srv.Mysql), "--binary-mode", "--force", "--verbose", "--default-character-set=utf8mb4")
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = []string{"LC_ALL=C"} // no MYSQL_* variables of the user who runs the tests
	cmd.Stdin = bytes.NewReader(dump)
	out, err := cmd.Output() // the statements fail, as they may
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

// closed returns a dump with what ends its last statement and takes the delimiter
// back, so that another can follow; nil if the Scanner refuses it.
func closed(in []byte) []byte {
	for _, end := range []string{"", ";", ";;", "//"} { // the delimiters in pieces
		whole := slices.Concat(in, []byte("\n"+end+"\nDELIMITER ;\n"))
		all, err := scan(bytes.NewReader(whole))
		if err == nil && (len(all) == 0 || all[len(all)-1].Delimiter != "") {
			return whole
		}
	}
	return nil
}

// odd is in statements of which the client makes another text than the server is sent: it leaves
// out the end of a line that looks like a command, prints no further than a NUL, and knows where
// a line ends.
var odd = regexp.MustCompile(`(?i)\ndelimiter|\x00|--$`)

// TestClientAgrees compares the Scanner with a real client, which drops comments.
func TestClientAgrees(t *testing.T) {
	srv := servertest.Start(t, servertest.Find(t, ""))
	// compare returns the number of statements.
	compare := func(t *testing.T, in []byte) int {
		t.Helper()
		all, err := scan(bytes.NewReader(in))
		if err != nil {
			return 0
		}
		sent, got := client(t, srv, in), texts(all)
		for i := range min(len(sent), len(got)) {
			whole := string(NewScanner(nil, "").WithoutComments([]byte(got[i])))
			if !odd.Match([]byte(got[i])) && strings.TrimSpace(sent[i]) != strings.TrimSpace(whole) {
				t.Errorf("%.500q:\nclient sent %q\nwithout comments it is %q", got[i], sent[i], whole)
			}
			inside := marker.FindAllString(got[i], -1)
			for _, m := range marker.FindAllString(sent[i], -1) {
				if !slices.Contains(inside, m) {
					t.Fatalf("%.2000q:\nclient sent %q\nscanner has %q", in, sent[i], got[i])
				}
			}
		}
		if n := min(len(sent), len(got)); n < max(len(sent), len(got)) {
			t.Fatalf("%.2000q:\nbehind those that agree the client sent %q\nscanner has %q", in, sent[n:], got[n:])
		}
		return len(got)
	}
	for _, c := range splits {
		if strings.HasPrefix(c.in, "/*M!999999") {
			continue // the client sends its comment along
		}
		t.Run(c.name, func(t *testing.T) { compare(t, []byte(c.in)) })
	}
	random := func(seed uint64) []byte { return randomDump(rand.New(rand.NewPCG(seed, 2)), int(5+seed%40)) }
	t.Run("random", func(t *testing.T) {
		for seed := range uint64(200) {
			compare(t, random(seed))
		}
	})
	// Most of the time goes into the start of a client.
	t.Run("random in a row", func(t *testing.T) {
		const dumps, each = 20000, 1000
		compared := 0
		var row []byte
		for seed := range uint64(dumps) {
			row = append(row, closed(random(seed))...)
			if seed%each == each-1 {
				compared += compare(t, row)
				row = row[:0]
			}
		}
		t.Logf("%d statements compared", compared)
		if compared < 5000 {
			t.Errorf("only %d statements were compared", compared)
		}
	})
}
