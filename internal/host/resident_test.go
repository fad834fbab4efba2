package host

import (
	"os"
	"testing"
)

func TestResident(t *testing.T) {
	before, err := Resident(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const more = 64 << 20
	b := make([]byte, more)
	for i := range b {
		b[i] = 1
	}
	after, err := Resident(os.Getpid())
	if err != nil || after-before < more*3/4 { // the race detector takes more
		t.Errorf("%d bytes more are resident after %d were written (%v)", after-before, more, err)
	}
	if b[more/2] != 1 {
		t.Error("not written")
	}
	if _, err := Resident(1 << 30); err == nil {
		t.Error("a process that is not there has memory")
	}
}
