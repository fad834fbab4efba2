package instance

import "testing"

func TestParseWheat(t *testing.T) {
	for text, want := range map[string]struct {
		ram   int64
		ok    bool
		wrong bool
		own   bool
	}{
		"":              {},
		"/srv/tmp":      {},
		"./wheatfs":     {},
		"tmpfs":         {own: true},
		"wheatfs":       {ok: true, own: true},
		"wheatfs:64M":   {ram: 64 << 20, ok: true, own: true},
		"wheatfs:":      {ok: true, wrong: true, own: true},
		"wheatfs:0":     {ok: true, wrong: true, own: true},
		"wheatfs:much":  {ok: true, wrong: true, own: true},
		"wheatfs2":      {},
		"tmpfs:64M":     {},
		"/wheatfs:64M":  {},
		"wheatfs:1.5 G": {ram: 3 << 29, ok: true, own: true},
	} {
		ram, ok, err := ParseWheat(text)
		if ram != want.ram || ok != want.ok || (err != nil) != want.wrong || IsOwnTmpDir(text) != want.own {
			t.Errorf("%q: %d, %v, %v, own %v", text, ram, ok, err, IsOwnTmpDir(text))
		}
	}
}
