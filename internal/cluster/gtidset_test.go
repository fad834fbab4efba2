package cluster

import "testing"

func TestCountGTIDs(t *testing.T) {
	const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	for set, want := range map[string]uint64{
		"": 0, uuid + ":1": 1, uuid + ":1-5": 5, uuid + ":1-5:7:9-10": 8, uuid + ":1-5,\n" + uuid + ":tag:3-4:other:1": 8,
	} {
		if got, err := CountGTIDs(set); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", set, got, err, want)
		}
	}
	for _, set := range []string{uuid + ":1-x", uuid + ":9999999999999999999999"} {
		if n, err := CountGTIDs(set); err == nil {
			t.Errorf("%q counts %d", set, n)
		}
	}
}
