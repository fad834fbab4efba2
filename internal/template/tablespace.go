package template

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"

	"github.com/ramaria-db/ramaria/internal/server"
)

// The first page of an InnoDB tablespace begins, as every page, with 38 bytes, the number of the
// tablespace among them; the header of the tablespace, which has it again, comes next.
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/fil0types.h
const (
	pageFlushed = 26
	pageSpace   = 34
	spaceID     = 38
	headerEnd   = server.TablespaceFlags + 4
)

// encrypted is what stands in the first page of a tablespace that has a key of its own, or had:
// the other pages are decrypted with the number that the first has.
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/fil0crypt.h
var encrypted = []byte{'s', 0xE, 0xC, 'R', 'E', 't'}

// encryptedFlag is among the flags of a tablespace of MySQL that has a key.
// https://github.com/mysql/mysql-server/blob/trunk/storage/innobase/include/fsp0types.h
const encryptedFlag = 1 << 13

// castagnoli is the polynomial of CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errTablespace says that a file is none whose number we can write.
var errTablespace = errors.New("its first page is none of a plain tablespace with CRC-32C checksums")

// space returns the number that a tablespace has by its first page, 0 if that is not written yet.
func space(f *os.File) (uint32, error) {
	var head [headerEnd]byte
	if _, err := f.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return binary.BigEndian.Uint32(head[spaceID:]), nil
}

// renumber gives a tablespace another number, in its first page: the server goes by that to
// tell which tablespace a file is. The other pages have it too, and keep the old one until the
// server imports the file.
func renumber(f *os.File, id uint32) error {
	var head [headerEnd]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return errors.Join(errTablespace, err)
	}
	flags := binary.BigEndian.Uint32(head[server.TablespaceFlags:])
	size, fullCRC32 := server.PageSize(flags)
	if size == 0 || !fullCRC32 && flags&encryptedFlag != 0 {
		return errTablespace
	}
	page := make([]byte, size)
	if _, err := f.ReadAt(page, 0); err != nil {
		return errors.Join(errTablespace, err)
	}
	seal := sealMySQL
	if fullCRC32 {
		seal = sealFull
	}
	if bytes.Contains(page, encrypted) || !bytes.Equal(page, seal(bytes.Clone(page))) {
		return errTablespace
	}
	binary.BigEndian.PutUint32(page[pageSpace:], id)
	binary.BigEndian.PutUint32(page[spaceID:], id)
	_, err := f.WriteAt(seal(page), 0)
	return err
}

// sealFull writes the checksum of a page as full_crc32 has it, and returns the page.
func sealFull(page []byte) []byte {
	body, sum := page[:len(page)-4], page[len(page)-4:]
	binary.BigEndian.PutUint32(sum, crc32.Checksum(body, castagnoli))
	return page
}

// sealMySQL writes the checksum of a page as MySQL has it: of what lies between, without where the
// page was flushed to and whose it is, at both ends.
// https://github.com/mysql/mysql-server/blob/trunk/storage/innobase/buf/checksum.cc
func sealMySQL(page []byte) []byte {
	end := len(page) - 8
	sum := crc32.Checksum(page[4:pageFlushed], castagnoli) ^ crc32.Checksum(page[spaceID:end], castagnoli)
	binary.BigEndian.PutUint32(page, sum)
	binary.BigEndian.PutUint32(page[end:], sum)
	return page
}
