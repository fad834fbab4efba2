package template

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
)

// The first page of an InnoDB tablespace: 38 bytes that every page begins with, the number
// of the tablespace among them, and the header of the tablespace, which has it again.
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/fil0types.h
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/fsp0fsp.h
const (
	pageSpace  = 34
	spaceID    = 38
	spaceFlags = 38 + 16
	headerEnd  = spaceFlags + 4
	// fullCRC32 is the flag of files whose pages end in the CRC-32C of all that is before,
	// which MariaDB has made since 10.5; the four lowest flags are then the page's size.
	fullCRC32 = 1 << 4
)

// encrypted is what stands in the first page of a tablespace that has a key of its own, or had:
// the other pages are decrypted with the number that the first has.
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/fil0crypt.h
var encrypted = []byte{'s', 0xE, 0xC, 'R', 'E', 't'}

// castagnoli is the polynomial of CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errTablespace says that a file is none whose number we can write.
var errTablespace = errors.New("its first page is none of a plain tablespace with full_crc32 checksums")

// renumber gives a tablespace another number, in its first page: the server goes by that to
// tell which tablespace a file is. The other pages have it too, and keep the old one until the
// server imports the file.
func renumber(f *os.File, id uint32) error {
	var head [headerEnd]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return errors.Join(errTablespace, err)
	}
	flags := binary.BigEndian.Uint32(head[spaceFlags:])
	shift := flags & 15
	if flags&fullCRC32 == 0 || shift < 3 || shift > 7 {
		return errTablespace
	}
	page := make([]byte, 512<<shift)
	if _, err := f.ReadAt(page, 0); err != nil {
		return errors.Join(errTablespace, err)
	}
	body, sum := page[:len(page)-4], page[len(page)-4:]
	if binary.BigEndian.Uint32(sum) != crc32.Checksum(body, castagnoli) || bytes.Contains(body, encrypted) {
		return errTablespace
	}
	binary.BigEndian.PutUint32(page[pageSpace:], id)
	binary.BigEndian.PutUint32(page[spaceID:], id)
	binary.BigEndian.PutUint32(sum, crc32.Checksum(body, castagnoli))
	_, err := f.WriteAt(page, 0)
	return err
}
