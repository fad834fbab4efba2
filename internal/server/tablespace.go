package server

// TablespaceFlags is where the flags of an InnoDB tablespace stand, four bytes, big end first:
// 16 bytes into its header, which follows the 38 bytes that every page begins with.
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/fsp0fsp.h
const TablespaceFlags = 38 + 16

// PageSize reads the flags of a tablespace: how large its pages are, in bytes, 0 if the flags
// make no sense, and whether they end in the CRC-32C of all that is before (full_crc32), which
// MariaDB has made since 10.5, with a layout of flags of its own.
func PageSize(flags uint32) (size int, fullCRC32 bool) {
	shift := flags >> 6 & 15 // PAGE_SSIZE of the original layout
	if flags&(1<<4) != 0 {   // in the original one the highest bit of a size that is never so large
		shift, fullCRC32 = flags&15, true
	} else if shift == 0 {
		shift = 5 // the default
	}
	if shift < 3 || shift > 7 {
		return 0, fullCRC32
	}
	return 512 << shift, fullCRC32
}
