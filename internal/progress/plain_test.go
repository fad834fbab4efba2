package progress

import (
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"a\tb\nc":                           "a\tb\nc",
		"größer, 日本語 🙂":                     "größer, 日本語 🙂",
		"shop\x1b]0;pwned\x07":              `shop\x1b]0;pwned\x07`,
		"a\rb\x7f\x00":                      `a\x0db\x7f\x00`,
		"\u009b31m":                         `\u009b31m`,
		"abc\u202egpj.exe":                  `abc\u202egpj.exe`,
		"\xff\xfe":                          `\xff\xfe`,
		strings.Repeat("x", 5000) + "\x1b[": strings.Repeat("x", 5000) + `\x1b[`,
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	var b strings.Builder
	if n, err := PlainWriter(&b).Write([]byte("a\r\n\x1b[31m")); n != 8 || err != nil || b.String() != "a\r\n\\x1b[31m" {
		t.Errorf("wrote %d, %v, %q", n, err, b.String())
	}
}
