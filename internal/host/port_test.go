package host

import "testing"

func TestPorts(t *testing.T) {
	for _, tc := range []struct {
		name               string
		files              map[string]string
		least, first, last int
	}{
		{"without the files", nil, 1024, 32768, 60999},
		{"set", map[string]string{"ip_unprivileged_port_start": "80\n", "ip_local_port_range": "10000\t20000\n"}, 80, 10000, 20000},
		{"nonsense", map[string]string{"ip_unprivileged_port_start": "x\n", "ip_local_port_range": "1\n"}, 1024, 32768, 60999},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := map[string]string{}
			for name, text := range tc.files {
				files[portSettings+name] = text
			}
			h := tree(t, files)
			first, last := h.OutgoingPorts()
			if got := h.LeastPort(); got != tc.least || first != tc.first || last != tc.last {
				t.Errorf("least port %d, outgoing %d to %d; want %d, %d to %d", got, first, last, tc.least, tc.first, tc.last)
			}
		})
	}
}
