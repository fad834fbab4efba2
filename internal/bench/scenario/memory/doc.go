// Package memory starts many instances at once. It measures how long that takes (Fleet), and how much
// memory an idle instance has (Scenario).
//
// The invariant: when a figure is taken all instances run and have answered.
package memory
