package room

import "testing"

const mb = 1 << 20

func TestLevel(t *testing.T) {
	for _, c := range []struct {
		name             string
		used, free, kept int64 // in MB
		want             Level
	}{
		{"empty", 0, 1000, 0, Ample},
		{"nothing at all", 0, 0, 0, Full},
		{"nearly 80 %", 799, 201, 0, Ample},
		{"80 %", 800, 200, 0, Notice},
		{"90 %", 900, 100, 0, Warning},
		{"95 %", 950, 50, 0, Last},
		{"hardly room", 984, 16, 0, Last},
		{"full", 985, 15, 0, Full},
		// 2 GB on XFS, whose servers become read-only at 256 MB: of 1792 MB.
		{"nearly 80 % of what servers may take", 1433, 615, 256, Ample},
		{"80 % of what servers may take", 1434, 614, 256, Notice},
		{"95 % of it", 1703, 345, 256, Last},
		{"read-only", 1800, 248, 256, Last},
	} {
		r := Room{Used: c.used * mb, Free: c.free * mb, Kept: c.kept * mb, Least: 16 * mb}
		if got := r.Level(); got != c.want {
			t.Errorf("%s: %s at %.3f, want %s", c.name, got, r.Share(), c.want)
		}
	}
}

// TestGauge: a level rises at once, and falls when there is clearly more room.
func TestGauge(t *testing.T) {
	var g Gauge
	for i, c := range []struct {
		used int64 // of 1000 MB
		want Level
	}{
		{100, Ample}, {800, Notice}, {799, Notice}, {801, Notice}, {771, Notice}, {769, Ample},
		{799, Ample}, {955, Last}, {921, Last}, {919, Warning}, {871, Warning}, {869, Notice},
		{985, Full}, {980, Full}, {977, Full}, {975, Last}, {0, Ample},
	} {
		if got := g.Set(Room{Used: c.used * mb, Free: (1000 - c.used) * mb, Least: 16 * mb}); got != c.want {
			t.Errorf("step %d, %d MB: %s, want %s", i, c.used, got, c.want)
		}
	}
}

// TestGaugeWithoutSlack is the control: without memory the level wavers.
func TestGaugeWithoutSlack(t *testing.T) {
	changes, last := 0, Ample
	for i := range 20 {
		used := int64(799 + i%2)
		if now := (Room{Used: used * mb, Free: (1000 - used) * mb}).Level(); now != last {
			changes, last = changes+1, now
		}
	}
	if changes < 19 {
		t.Errorf("the level changed %d times: TestGauge shows nothing", changes)
	}
}
