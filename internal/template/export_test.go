package template

import "slices"

// Failed reports whether tables could once not be cloned by their files.
func (f *Files) Failed() bool { return f.off.Load() }

// Copied calls f whenever there are copies that are not imported yet.
func (f *Files) Copied(call func()) { f.copied = call }

// Made calls f whenever there is a clone that is not compared yet.
func (s *Shape) Made(f func(name string)) { s.made = f }

// Relocate returns the body of an object of one database for another, in which objects are there.
func Relocate(sql, mode, from, to string, objects ...string) (string, error) {
	return relocate(sql, mode, from, to, (&Shape{}).fold, func(name string) bool { return slices.Contains(objects, name) })
}
