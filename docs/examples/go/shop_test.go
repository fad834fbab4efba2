package shop

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
)

func TestItems(t *testing.T) {
	times, _ := strconv.Atoi(os.Getenv("TIMES")) // a benchmark wants more of them
	for n := range max(times, 1) {
		cocoa, chai := fmt.Sprint("cocoa ", n), fmt.Sprint("chai ", n)
		for _, test := range []struct {
			name, statement string
			want            []string
		}{
			{"adds an item", "INSERT INTO items (name) VALUES ('" + cocoa + "')", []string{"tea", "coffee", cocoa}},
			{"renames an item", "UPDATE items SET name = '" + chai + "' WHERE id = 1", []string{chai, "coffee"}},
			{"deletes an item", "DELETE FROM items WHERE id = 2", []string{"tea"}},
			{"alters the table", fmt.Sprint("ALTER TABLE items ADD COLUMN price_", n, " INT"), []string{"tea", "coffee"}},
			{"sets a variable", fmt.Sprint("SET lock_wait_timeout = ", 100+n), []string{"tea", "coffee"}},
			{"only reads", "DO 1", []string{"tea", "coffee"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				db := database(t)
				if _, err := db.Exec(test.statement); err != nil {
					t.Fatal(err)
				}
				if got := names(t, db); !slices.Equal(got, test.want) {
					t.Errorf("the items are %q, want %q", got, test.want)
				}
			})
		}
	}
}

func names(t *testing.T, db *sql.DB) (names []string) {
	t.Helper()
	rows, err := db.Query("SELECT name FROM items ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}
