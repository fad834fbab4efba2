package repeatable

// Kinds are the words for kinds of fences, as docs/durability.md explains them.
var Kinds = []string{
	"account", "auto_increment", "charset", "create_select", "dml", "engine", "error", "event", "function", "ignore", "incident",
	"install", "partition", "tablespace", "temporary", "unknown", "versioning",
}
