package shop

import (
	"database/sql"
	"os"
	"testing"
)

// look says to a benchmark what a test found; it counts what differs from test to test.
func look(t *testing.T, db *sql.DB) {
	t.Helper()
	path := os.Getenv("RAMARIA_LEAKS")
	if path == "" {
		return
	}
	query, err := os.ReadFile("../look.sql")
	if err != nil {
		t.Fatal(err)
	}
	var found string
	if err := db.QueryRow(string(query)).Scan(&found); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(found + "\n"); err != nil {
		t.Fatal(err)
	}
}
