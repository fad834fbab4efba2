package volume

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are powers of 1024, as the settings of the servers have them.
const units = "KMGT"

// ParseSize parses a size in bytes: a number, with or without a fraction, and optionally K, M,
// G or T, powers of 1024, optionally followed by B or iB: 64M, 1.5GiB, 4096.
func ParseSize(s string) (int64, error) {
	bad := func() (int64, error) {
		return 0, fmt.Errorf("parse size %q: not a size\nhint: write it like 512M or 2G", s)
	}
	num := strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(s)), "B")
	if cut, ok := strings.CutSuffix(num, "I"); ok && strings.HasSuffix(strings.ToUpper(s), "IB") {
		num = cut
	}
	unit := 1.0
	if num != "" {
		if i := strings.IndexByte(units, num[len(num)-1]); i >= 0 {
			unit = math.Pow(1024, float64(i+1))
			num = strings.TrimSpace(num[:len(num)-1])
		}
	}
	if strings.Trim(num, "0123456789.") != "" { // no exponents, signs, Inf
		return bad()
	}
	if n, err := strconv.ParseInt(num, 10, 64); err == nil && unit == 1 {
		return n, nil
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || f*unit >= math.MaxInt64 {
		return bad()
	}
	return int64(f * unit), nil
}

// FormatBytes formats a size for people, in powers of 1024: 12 B, 300 KB, 1.5 GB.
func FormatBytes(n int64) string {
	if n < 0 {
		return "-" + FormatBytes(-max(n, -math.MaxInt64))
	}
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, i := float64(n)/1024, 0
	for f >= 1023.5 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	digits := 0
	if f < 9.95 {
		digits = 1
	}
	s := strconv.FormatFloat(f, 'f', digits, 64)
	return strings.TrimSuffix(s, ".0") + " " + units[i:i+1] + "B"
}

// exactSize writes a size so that ParseSize reads the same number.
func exactSize(n int64) string {
	suffix := ""
	for i := 0; i < len(units) && n%1024 == 0 && n > 0; i++ {
		n, suffix = n/1024, units[i:i+1]
	}
	return strconv.FormatInt(n, 10) + suffix
}
