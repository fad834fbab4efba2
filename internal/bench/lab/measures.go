package lab

// Measures of several scenarios beside what they compare.
const (
	// ServerCPU is the processor time of a server in a round.
	ServerCPU = "server CPU"
	// MedianLatency is what half of the transactions took at most.
	MedianLatency = "p50 latency"
	// TailLatency is what 99 % of the transactions took at most.
	TailLatency = "p99 latency"
)
