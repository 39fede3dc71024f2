/** Bytes that grow, with the integers and vectors of the WebAssembly binary format. */

const firstCapacity = 4_096
const text = new TextEncoder()

export class Writer {
  #bytes = new Uint8Array(firstCapacity)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** What was written. A view: valid until the next write. */
  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
  }

  #room(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    larger.set(this.written)
    this.#bytes = larger
  }

  byte(value: number): void {
    this.#room(1)
    this.#bytes[this.#length++] = value
  }

  raw(bytes: ArrayLike<number>): void {
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  u32(value: number): void {
    let rest = value
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80)
      rest = Math.floor(rest / 0x80)
    }
    this.byte(rest)
  }

  /** A signed integer below 2^53 in magnitude; the same bytes serve i32 and i64 constants. */
  signed(value: number): void {
    let rest = value
    for (;;) {
      const low = ((rest % 0x80) + 0x80) % 0x80
      rest = Math.floor(rest / 0x80)
      if ((rest === 0 && low < 0x40) || (rest === -1 && low >= 0x40)) {
        this.byte(low)
        return
      }
      this.byte(low | 0x80)
    }
  }

  name(value: string): void {
    this.sized(text.encode(value))
  }

  sized(bytes: Uint8Array): void {
    this.u32(bytes.length)
    this.raw(bytes)
  }
}
