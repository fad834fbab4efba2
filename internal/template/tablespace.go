package template

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"

	"github.com/ramaria-db/ramaria/internal/server"
)

// The first page of an InnoDB tablespace begins, as every page, with 38 bytes, the number of the
// tablespace among them; the header of the tablespace, which has it again, comes next.
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/fil0types.h
const (
	pageSpace = 34
	spaceID   = 38
	headerEnd = server.TablespaceFlags + 4
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
	size, fullCRC32 := server.PageSize(binary.BigEndian.Uint32(head[server.TablespaceFlags:]))
	if !fullCRC32 || size == 0 {
		return errTablespace
	}
	page := make([]byte, size)
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
