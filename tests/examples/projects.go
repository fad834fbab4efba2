package examples

// Pages of the documentation, below docs.
const (
	// Helpers has the projects that a helper puts back.
	Helpers = "examples.md"
	// Door has those behind the front door.
	Door = "languages.md"
)

// Project is a project in docs/examples.
type Project struct {
	Name  string // of its directory
	Title string // in a table
	// Page says in Section how its tests run.
	Page, Section string
	// Needs are commands that succeed where all is there.
	Needs []string
	// Plain runs its tests without Ramaria, as ISOLATION says, and Ways are the values of ISOLATION with which they pass.
	// Those with a helper take "none" as well, with which they fail. A project without Plain has no bench.sh either.
	Plain string
	Ways  []string
	// Fails is what its tests say if nothing puts back the database that they share.
	Fails string
	// Template is what the test runner and two workers have a clone each of; "" where tests have them.
	Template string
}

// Projects are all of them, in the order of tables.
var Projects = []Project{
	{
		Name: "django", Title: "Django", Page: Helpers, Section: "Django", Needs: []string{"python3 --version"},
		Plain: ".venv/bin/python manage.py test --noinput --settings shop.plain", Ways: []string{"flush"}, Fails: "AssertionError: Lists differ",
	},
	{
		Name: "sqlalchemy", Title: "SQLAlchemy, pytest", Page: Helpers, Section: "SQLAlchemy", Needs: []string{"python3 --version"},
		Plain: ".venv/bin/python -m pytest -p no:ramaria -p plain", Ways: []string{"truncate", "reload"}, Fails: "AssertionError",
	},
	{
		Name: "node", Title: "Node, mysql2", Page: Helpers, Section: "Node", Needs: []string{"npm --version"},
		Plain: "NODE_OPTIONS=--conditions=plain npm test", Ways: []string{"truncate", "reload"}, Fails: "Expected values to be strictly deep-equal",
	},
	{
		Name: "go", Title: "Go", Page: Helpers, Section: "Go", Needs: []string{"go version"},
		Plain: "go test -count=1 -tags plain", Ways: []string{"truncate", "reload"}, Fails: "the items are",
	},
	{
		Name: "java", Title: "Java, JUnit", Page: Helpers, Section: "Java", Needs: []string{"mvn --version"},
		Plain: "mvn -q test", Ways: []string{"truncate", "reload"}, Fails: "AssertionFailedError",
	},
	{
		Name: "php", Title: "PHP, PHPUnit", Page: Door, Section: "PHP", Needs: []string{"phpunit --version", "php -r 'exit(extension_loaded(\"pdo_mysql\") ? 0 : 1);'"},
		Plain: "phpunit --bootstrap bench.php", Ways: []string{"reload"}, Fails: "Failed asserting that two arrays are identical",
	},
	{
		Name: "rails", Title: "Rails", Page: Door, Section: "Rails", Needs: []string{"ruby -e 'require \"rails\"; require \"active_record\"; require \"mysql2\"'"},
		Plain: "sh plain.sh", Ways: []string{"truncate"}, Fails: "Expected: [1]", Template: "app",
	},
	{
		Name: "rust", Title: "Rust, sqlx", Page: Door, Section: "Rust", Needs: []string{"cargo --version"},
		Plain: "cargo test --manifest-path bench/Cargo.toml -- --test-threads=1", Ways: []string{"reload"}, Fails: "assertion `left == right` failed",
	},
	{Name: "shell", Title: "a shell", Page: Door, Section: "Shell", Needs: []string{"mysql --version"}, Fails: "not ok"},
}
