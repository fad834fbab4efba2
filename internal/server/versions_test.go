package server

import "testing"

func TestReads(t *testing.T) {
	for _, c := range []struct {
		server *Server
		data   Version
		reads  bool
		step   string
	}{
		{testMySQL(Version{9, 7, 4}), Version{8, 0, 42}, true, "8.4"},
		{testMySQL(Version{9, 7, 4}), Version{8, 4, 5}, true, ""},
		{testMySQL(Version{9, 7, 4}), Version{9, 1, 0}, true, ""},
		{testMySQL(Version{9, 7, 4}), Version{9, 7, 9}, true, ""},
		{testMySQL(Version{9, 7, 4}), Version{}, true, ""},
		{testMySQL(Version{8, 4, 5}), Version{8, 0, 42}, true, ""},
		{testMySQL(Version{8, 4, 5}), Version{9, 7, 4}, false, ""},
		{testMySQL(Version{8, 0, 36}), Version{8, 0, 42}, false, ""},
		{testMySQL(Version{8, 0, 42}), Version{8, 0, 36}, true, ""},
		{testServer(Version{10, 11, 2}), Version{10, 11, 19}, true, ""},
		{testServer(Version{11, 8, 6}), Version{10, 6, 1}, true, ""},
		{testServer(Version{10, 11, 2}), Version{11, 4, 5}, false, ""},
	} {
		if got := c.server.Reads(c.data); got != c.reads {
			t.Errorf("%s reads data of %s: %v", c.server.Name(), c.data, got)
		}
		if got := c.server.StepTo(c.data); got != c.step {
			t.Errorf("%s on data of %s: step %q, want %q", c.server.Name(), c.data, got, c.step)
		}
	}
}
