/**
 * The memory through which a policy and the host exchange bytes, as the Extism kernel has it: blocks at addresses of
 * their own, apart from the policy's linear memory. One per call. Bounded, and every access is checked.
 */
import { HostFault } from "#runtime/plugin-host/wasm/fault.ts"

/** Address 0 means "nothing"; blocks begin behind it, at multiples of 8. */
const firstAddress = 8
const firstCapacity = 16 * 1024

const aligned = (size: number): number => Math.max(8, Math.ceil(size / 8) * 8)

export class Exchange {
  readonly #most: number
  readonly #blocks = new Map<number, number>()
  #bytes: Uint8Array
  #view: DataView
  #top = firstAddress

  /** At most `most` bytes in all blocks together. */
  constructor(most: number) {
    this.#most = firstAddress + most
    this.#bytes = new Uint8Array(Math.min(this.#most, firstCapacity))
    this.#view = new DataView(this.#bytes.buffer)
  }

  allocate(size: number): number {
    const address = this.#top
    const top = address + aligned(size)
    if (top > this.#most)
      throw new HostFault("exchange_exhausted", `more than ${this.#most - firstAddress} bytes were allocated`)
    if (top > this.#bytes.length) this.#grow(top)
    this.#top = top
    this.#blocks.set(address, size)
    return address
  }

  store(bytes: Uint8Array): number {
    const address = this.allocate(bytes.length)
    this.#bytes.set(bytes, address)
    return address
  }

  /** Only the last block gives its room back. */
  free(address: number): void {
    const size = this.#blocks.get(address)
    if (size === undefined) return
    this.#blocks.delete(address)
    if (address + aligned(size) === this.#top) {
      this.#top = address
      this.#bytes.fill(0, address, address + size)
    }
  }

  /** Size of the block at this address, 0 where there is none. */
  sizeOf(address: number): number {
    return this.#blocks.get(address) ?? 0
  }

  /** A copy of bytes that lie within what was allocated. */
  read(address: number, size: number): Uint8Array {
    this.#check(address, size)
    return this.#bytes.slice(address, address + size)
  }

  loadByte(address: number): number {
    this.#check(address, 1)
    return this.#view.getUint8(address)
  }

  loadWord(address: number): bigint {
    this.#check(address, 8)
    return this.#view.getBigInt64(address, true)
  }

  storeByte(address: number, value: number): void {
    this.#check(address, 1)
    this.#view.setUint8(address, value)
  }

  storeWord(address: number, value: bigint): void {
    this.#check(address, 8)
    this.#view.setBigInt64(address, value, true)
  }

  #check(address: number, size: number): void {
    if (!(address >= firstAddress && size >= 0 && address + size <= this.#top))
      throw new HostFault("host_error", `there are no ${size} allocated bytes at address ${address}`)
  }

  #grow(needed: number): void {
    const larger = new Uint8Array(Math.min(this.#most, Math.max(needed, this.#bytes.length * 2)))
    larger.set(this.#bytes)
    this.#bytes = larger
    this.#view = new DataView(larger.buffer)
  }
}
