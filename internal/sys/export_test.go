package sys

// FirstPIDNamespace is for tests that must know whether they run in a container.
const FirstPIDNamespace = firstPIDNamespace
