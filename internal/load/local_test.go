package load

import (
	"strings"
	"testing"
)

// TestLocalFile refuses a dump that has rows in another file, and says so.
func TestLocalFile(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		s.clear(t)
		err := s.load(t.Context(), strings.NewReader("CREATE TABLE t (a int);\nLOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t;\n"))
		if err == nil || !strings.Contains(err.Error(), "test.sql:2: LOAD DATA LOCAL reads another file of the client's") || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%v", err)
		}
	})
}
