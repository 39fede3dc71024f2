/**
 * Reads a WebAssembly binary, byte by byte. Every read is checked against the end of what may be read;
 * integers are decoded as strictly as the specification says (at most ⌈bits / 7⌉ bytes, unused bits
 * must repeat the sign), so that no other decoder can see another value in the same bytes.
 */
import { type Place, refused } from "#runtime/plugin-host/wasm/refused.ts"

const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export class Reader {
  readonly bytes: Uint8Array
  /** The next byte to read. */
  at: number
  /** The first byte that may not be read. */
  end: number
  /** The function being read, for messages. */
  functionIndex: number | undefined

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.at = 0
    this.end = bytes.length
    this.functionIndex = undefined
  }

  get left(): number {
    return this.end - this.at
  }

  place(offset = this.at): Place {
    return this.functionIndex === undefined ? { offset } : { offset, functionIndex: this.functionIndex }
  }

  malformed(message: string, offset = this.at): Error {
    return refused("malformed", message, this.place(offset))
  }

  unsupported(message: string, offset = this.at): Error {
    return refused("unsupported", message, this.place(offset))
  }

  byte(): number {
    if (this.at >= this.end) throw this.malformed("The module ends too early")
    // Within bounds, checked above.
    return this.bytes[this.at++] as number
  }

  skip(count: number): void {
    if (count > this.left) throw this.malformed("The module ends too early")
    this.at += count
  }

  take(count: number): Uint8Array {
    const start = this.at
    this.skip(count)
    return this.bytes.subarray(start, this.at)
  }

  u32(): number {
    const first = this.byte()
    if (first < 0x80) return first
    let value = first & 0x7f
    for (let shift = 7; shift < 28; shift += 7) {
      const next = this.byte()
      value |= (next & 0x7f) << shift
      if (next < 0x80) return value
    }
    const last = this.byte()
    if (last > 0x0f) throw this.malformed("An integer is longer than 32 bits", this.at - 1)
    return (value | (last << 28)) >>> 0
  }

  /** A signed integer of `bits` bits, whose value nobody needs. */
  skipSigned(bits: 32 | 33 | 64): void {
    const longest = Math.ceil(bits / 7)
    for (let length = 1; ; length++) {
      const next = this.byte()
      if (length < longest) {
        if (next < 0x80) return
        continue
      }
      const used = bits - 7 * (longest - 1)
      const unused = (0x7f << (used - 1)) & 0x7f
      if (next >= 0x80 || ((next & unused) !== 0 && (next & unused) !== unused))
        throw this.malformed(`An integer is longer than ${bits} bits`, this.at - 1)
      return
    }
  }

  /** The length of a vector whose elements take at least one byte each. */
  count(limit: number, what: string): number {
    const offset = this.at
    const count = this.u32()
    if (count > limit) throw refused("limit", `${count} ${what}, at most ${limit} are allowed`, this.place(offset))
    if (count > this.left) throw this.malformed(`${count} ${what} cannot fit in the bytes that follow`, offset)
    return count
  }

  name(limit: number): string {
    const offset = this.at
    const bytes = this.take(this.count(limit, "bytes of a name"))
    try {
      return text.decode(bytes)
    } catch {
      throw this.malformed("A name is not UTF-8", offset)
    }
  }
}
