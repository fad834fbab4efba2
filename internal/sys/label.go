package sys

import "golang.org/x/sys/unix"

const (
	labelAttr = "security.selinux"
	// maxLabel is the room for a label of SELinux; real ones have 40 to 60 bytes.
	maxLabel = 1024
)

// TakeLabel gives the directory at path the SELinux label of the directory at from, and with that what is made in it. Where
// there are no labels, or the policy does not allow it, it stays as it is.
func TakeLabel(path, from string) {
	label := make([]byte, maxLabel)
	n, err := unix.Getxattr(from, labelAttr, label)
	if err == nil {
		_ = unix.Setxattr(path, labelAttr, label[:n], 0)
	}
}
