package repeatable

// Kinds are the words for kinds of fences, as docs/durability.md explains them.
var Kinds = []string{
	"account", "algorithm", "auto_increment", "charset", "create_select", "dml", "engine", "error", "event", "function", "ignore", "incident",
	"install", "now", "option", Twice, "tablespace", "temporary", "unknown", Unreadable, "versioning",
}

const (
	// Twice is the kind of statements that give the same when the log is repeated, but not on data that has them already.
	Twice = "partition"
	// Unreadable is the kind of what cannot be judged, since the log cannot be read there.
	Unreadable = "unreadable"
)
