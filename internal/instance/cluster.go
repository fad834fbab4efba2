package instance

// How a member of a cluster starts, unless it joins the others: it begins the cluster, or does not join it yet.
const (
	JoinsBegin = "begin"
	JoinsApart = "apart"
)
