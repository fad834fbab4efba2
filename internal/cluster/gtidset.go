package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// CountGTIDs is how many transactions a set of MySQL's GTIDs has: "UUID:1-5:7,UUID:TAG:1".
// https://dev.mysql.com/doc/refman/en/replication-gtids-concepts.html#replication-gtids-concepts-gtid-sets
func CountGTIDs(set string) (count uint64, err error) {
	for one := range strings.SplitSeq(set, ",") {
		_, intervals, _ := strings.Cut(strings.TrimSpace(one), ":")
		for interval := range strings.SplitSeq(intervals, ":") {
			if interval == "" || interval[0] < '0' || interval[0] > '9' { // a tag
				continue
			}
			first, last, isRange := strings.Cut(interval, "-")
			if !isRange {
				last = first
			}
			from, err := strconv.ParseUint(first, 10, 63)
			if err != nil {
				return 0, fmt.Errorf("count GTIDs of %q: %w", set, err)
			}
			to, err := strconv.ParseUint(last, 10, 63)
			if err != nil {
				return 0, fmt.Errorf("count GTIDs of %q: %w", set, err)
			}
			if to >= from {
				count += to - from + 1
			}
		}
	}
	return count, nil
}
