package client

// Membership is what a member of a cluster is in it, as its server last said.
type Membership struct {
	// Cluster is the name of the cluster.
	Cluster string `json:"cluster"`
	// State is the server's own word: ONLINE, RECOVERING, ... of MySQL, Synced, Joiner, ... of MariaDB's Galera. Online says
	// that it is a whole member, and that most members reach each other.
	State  string `json:"state"`
	Online bool   `json:"online"`
	// Role is primary or secondary in a group of MySQL, any where each member is written to, "" for one that is not online.
	Role string `json:"role,omitempty"`
	// Sees is how many members it reaches, itself among them, and Of how many the cluster has.
	Sees int `json:"sees"`
	Of   int `json:"of"`
}
