//go:build race

package front

// raced says that the detector of races is at work, which takes memory of its own.
const raced = true
