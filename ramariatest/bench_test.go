package ramariatest

import "testing"

// BenchmarkNew is what a test costs that changes three rows, all of it.
func BenchmarkNew(b *testing.B) {
	if noServer != "" {
		b.Skip(noServer)
	}
	for b.Loop() {
		f := &fakeT{}
		f.run(func() {
			db := New(f, Template("shop", Build("1", shopTables)))
			for range 3 {
				if _, err := db.ExecContext(b.Context(), "INSERT INTO orders (item) VALUES ('a bed')"); err != nil {
					b.Error(err)
				}
			}
		})
	}
}
