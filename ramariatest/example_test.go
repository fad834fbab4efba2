package ramariatest_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ramaria-db/ramaria/ramariatest"
)

// t is the *testing.T of a test.
var t = ramariatest.ExampleT

func ExampleNew() {
	// func TestOrder(t *testing.T) {
	db := ramariatest.New(t, ramariatest.Template("shop", ramariatest.FromDump("testdata/shop.sql")))

	var orders int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM orders").Scan(&orders); err != nil {
		t.Fatal(err)
	}
	fmt.Println(orders, "orders")
	// Output: 3 orders
}

func ExampleBuild() {
	// It is called once for all tests, processes and runs, until the key changes.
	migrate := func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(40))")
		return err
	}
	db := ramariatest.New(t, ramariatest.Template("users", ramariatest.Build("version 1", migrate)))

	if _, err := db.ExecContext(t.Context(), "INSERT INTO users VALUES (1, 'Ann')"); err != nil {
		t.Fatal(err)
	}
	fmt.Println("Ann is in")
	// Output: Ann is in
}

func ExampleDatabase_Reset() {
	d := ramariatest.NewDatabase(t, ramariatest.Template("shop", ramariatest.FromDump("testdata/shop.sql")))
	for range 3 {
		r, err := d.DB.ExecContext(t.Context(), "INSERT INTO orders (item) VALUES ('a bed')")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(r.LastInsertId())
		d.Reset()
	}
	// Output:
	// 4 <nil>
	// 4 <nil>
	// 4 <nil>
}
