package lab

// Seed is what all contents that scenarios make of Mix follow from.
const Seed = 20120301

// StreamRounds is the first of the streams of rounds; those below it are of the contents of tables.
const StreamRounds uint64 = 3

// Mix is the i-th number of a stream that all runs and machines have alike: the output
// function of SplitMix64 (Steele, Lea and Flood, 2014) over a counter. The standard library
// promises no stable sequence for numbers below a bound.
func Mix(stream, i uint64) uint64 {
	z := Seed + stream*0xd1342543de82ef95 + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
