package repeatable

// Kinds are the words for kinds of fences, as docs/durability.md explains them.
var Kinds = []string{
	"account", "auto_increment", "charset", "create_select", "dml", "engine", "error", "event", "function", "ignore", "incident",
	"install", Twice, "tablespace", "temporary", "unknown", "versioning",
}

// Twice is the kind of statements that give the same when the log is repeated, but not on data that has them already.
const Twice = "partition"
