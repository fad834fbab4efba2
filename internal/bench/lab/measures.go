package lab

// ServerCPU is the measure of the processor time of a server in a round.
const ServerCPU = "server CPU"
