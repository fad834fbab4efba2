package selfsigned

import (
	"strings"
	"testing"
)

// TestText: what was written is read again, with the same fingerprint, and two certificates differ.
func TestText(t *testing.T) {
	made, err := New("ramaria test")
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := Text(made)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse(cert, key)
	if err != nil || Fingerprint(read) != Fingerprint(made) || len(Fingerprint(made)) != 64 {
		t.Errorf("it reads as %v, %v", read.Certificate, err)
	}
	other, err := New("ramaria test")
	if err != nil || Fingerprint(other) == Fingerprint(made) {
		t.Errorf("another one is the same, or %v", err)
	}
	_, otherKey, err := Text(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][2]string{
		"another's key": {cert, otherKey},
		"cut off":       {cert[:len(cert)/2], key},
		"two":           {cert + cert, key},
		"none":          {"", key},
	} {
		if _, err := Parse(text[0], text[1]); err == nil || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
