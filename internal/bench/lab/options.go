package lab

import (
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Options narrow or widen what the scenarios measure. The zero value is the standard.
type Options struct {
	// Places are those that servers are put in, as --place names them; none are those that a
	// scenario chooses itself.
	Places []string
	// Volumes are the volumes of ramaria's own rows; none is the one that `up` would choose.
	Volumes []volume.Kind
	// Threads are those of sysbench, and Workloads what it does; none are those that a scenario chooses
	// itself.
	Threads   []int
	Workloads []string
	// DiskWrites are how many writes a second the disk is held to, 0 for all that it makes; none is the disk as it is.
	DiskWrites []int
	// Scale multiplies numbers of rows and sizes; 0 is 1.
	Scale float64
	// Dump is the user's own, "" for the generated one.
	Dump string
	// Quick leaves out what takes minutes to prepare, and makes the rest small.
	Quick bool
	// Flags are the others that were typed, for commands that repeat a row: " --rounds 5".
	Flags string
}

// quickScale is what a quick run makes of sizes.
const quickScale = 0.05

// Scaled is a number of rows at the scale that was asked for, less in a quick run, at least 1.
func (o Options) Scaled(n int) int {
	if o.Quick {
		return o.Sized(float64(n) * quickScale)
	}
	return o.Sized(float64(n))
}

// Sized is scaled for what is quick as it is.
func (o Options) Sized(n float64) int {
	if o.Scale > 0 {
		n *= o.Scale
	}
	return max(int(n), 1)
}
