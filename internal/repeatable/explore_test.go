package repeatable

import (
	"bufio"
	"os"
	"testing"
)

func TestExplore(t *testing.T) {
	f, err := os.Open(os.Getenv("EXPLORE"))
	if err != nil {
		t.Skip()
	}
	r := startReal(t, os.Getenv("RAMARIA_TEST_SERVER"))
	j := New(r.mysql)
	s := bufio.NewScanner(f)
	for s.Scan() {
		err := r.exec(s.Text())
		t.Logf("## %s  %v", s.Text(), err)
		for _, l := range r.read(j) {
			if l.query != nil || l.verdict.Fence != "" {
				t.Logf("      %s", l)
			}
		}
	}
}
