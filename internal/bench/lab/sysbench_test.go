package lab

import (
	"strings"
	"testing"
)

// report is what sysbench 1.0.20 says.
const report = `SQL statistics:
    queries performed:
        read:                            48328
        total:                           69040
    transactions:                        3452   (1150.27 per sec.)
    queries:                             69040  (23005.36 per sec.)
    ignored errors:                      0      (0.00 per sec.)

Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.800 |***                                      452
       3.900 |************************************     1500
      25.280 |************************************     1500

Latency (ms):
         min:                                    1.82
         avg:                                    6.95
         max:                                   61.30
         99th percentile:                       25.28
         sum:                                23990.21
`

func TestSysbenchReport(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       SysbenchReport
		fails      bool
	}{
		{"as it is", report, SysbenchReport{3452, 1150.27, 0.0039, 0.02528}, false},
		{"no histogram", strings.ReplaceAll(report, " |", " "), SysbenchReport{3452, 1150.27, 0, 0.02528}, false},
		{"another percentile", strings.Replace(report, "99th", "95th", 1), SysbenchReport{}, true},
		{"no transactions", "FATAL: unable to connect to MySQL server", SysbenchReport{}, true},
		{"a number that is none", strings.Replace(report, "1150.27", "1.1.5", 1), SysbenchReport{}, true},
		{"nothing done", strings.NewReplacer("1150.27", "0.00", "25.28", "0.00", "3452", "0", " |", " ").Replace(report), SysbenchReport{}, false},
	} {
		got, err := parseSysbench(tc.text)
		if (err != nil) != tc.fails || !tc.fails && got != tc.want {
			t.Errorf("%s: %+v, %v", tc.name, got, err)
		}
	}
}
