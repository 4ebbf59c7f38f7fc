/**
 * A UUIDv7 (RFC 9562 §5.7): ids of one import are adjacent in the index.
 * @param randomBytes called for 10 bytes
 */
export function makeFileId(now: Date, randomBytes: (size: number) => Buffer): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(now.getTime(), 0, 6)
  randomBytes(10).copy(bytes, 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
