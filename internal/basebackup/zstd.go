package basebackup

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// mostStored is what a block takes at most when it is compressed: zstd adds a few bytes to what does
// not become smaller.
const mostStored = blockSize + 1024

// newEncoder is for one goroutine. Of the levels the fastest is taken: pages of InnoDB shrink to a
// third by it, and a base is written beside a server that needs the CPU.
func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(blockSize))
}

func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(blockSize), zstd.WithDecoderLowmem(true))
}

// decode decompresses a block, into the room of buf if it fits.
func (p part) decode(dec *zstd.Decoder, i blockInfo, stored, buf []byte) ([]byte, error) {
	raw, err := dec.DecodeAll(stored, buf[:0])
	if err == nil && len(raw) != i.raw {
		err = fmt.Errorf("it has %d bytes, not %d", len(raw), i.raw)
	}
	if err != nil {
		return nil, p.damaged(i.at, "the block cannot be decompressed: %v", err)
	}
	return raw, nil
}
