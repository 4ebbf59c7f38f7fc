/** The table of the reflected polynomial 0xEDB88320 (ISO 3309), one entry a byte. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

/** CRC-32 of ASCII text. It detects typing errors and helps secret scanners; it is not a security feature. */
export function crc32(text: string): number {
  let value = 0xffffffff
  for (let index = 0; index < text.length; index++) {
    value = (value >>> 8) ^ (TABLE[(value ^ text.charCodeAt(index)) & 0xff] ?? 0)
  }
  return (value ^ 0xffffffff) >>> 0
}
