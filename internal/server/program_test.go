package server

import (
	"os/exec"
	"testing"
)

// TestShellWord asks a shell.
func TestShellWord(t *testing.T) {
	for _, word := range []string{"", "a", "/a/b-c.d_e", "a b", "it's", "$HOME", "100%s", "s3://b/p?endpoint=http://h&region=r", "~"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+ShellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q became %q, %v", word, out, err)
		}
	}
}
