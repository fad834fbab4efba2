package template

// Failed reports whether tables could once not be cloned by their files.
func (f *Files) Failed() bool { return f.off.Load() }
