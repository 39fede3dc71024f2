/**
 * Real modules with bytes changed: each is refused, or admitted and as bounded as any other. Nothing else may
 * happen: no exception, no hang. `SVC_WASM_MUTATIONS=all` tries every value of every byte.
 */
import { describe, expect, it } from "vitest"
import { defaultStackBytes, type HostFunctions, Instance } from "#runtime/plugin-host/wasm/instance.ts"
import { pageBytes } from "#runtime/plugin-host/wasm/limits.ts"
import { AdmissionRefused } from "#runtime/plugin-host/wasm/refused.ts"
import { random } from "#test/fixtures/wasm/random-choices.ts"
import { llhttp, llhttpGrants, samples } from "#test/fixtures/wasm/samples.ts"
import { compileNow, tryAdmit } from "#test/fixtures/wasm/support.ts"

const everything = process.env.SVC_WASM_MUTATIONS === "all"
const budget = { fuel: 20_000, stackBytes: defaultStackBytes }
const limits = { memoryPages: 8 }

const functions: HostFunctions = new Map([["env", new Map(llhttpGrants.map(({ name }) => [name, () => 0]))]])

/** Admits and runs what can be run. True when it was admitted. */
const survives = (bytes: Uint8Array): boolean => {
  const admitted = tryAdmit(bytes, llhttpGrants, limits)
  if (admitted instanceof AdmissionRefused) return false
  expect(admitted.memoryPages).toBeLessThanOrEqual(limits.memoryPages)
  const instance = Instance.create(compileNow(admitted), functions)
  if (!(instance instanceof Instance)) return true
  instance.start(budget)
  for (const { name, type } of admitted.exports) {
    if (type === undefined || type.params.length > 0) continue
    expect(instance.call(name, [], budget).fuelUsed).toBeLessThanOrEqual(budget.fuel)
  }
  expect(instance.memory?.length ?? 0).toBeLessThanOrEqual(limits.memoryPages * pageBytes)
  return true
}

/** Values that tend to matter: single bits, neighbours, and the ends of the ranges of LEB128. */
const values = (byte: number): ReadonlyArray<number> => {
  if (everything) return Array.from({ length: 256 }, (_, value) => value)
  const flipped = Array.from({ length: 8 }, (_, bit) => byte ^ (1 << bit))
  return [...new Set([...flipped, (byte + 1) & 0xff, (byte - 1) & 0xff, 0, 0x0b, 0x40, 0x7f, 0x80, 0xff, 0xfc, 0xfd])]
}

describe("a module with one byte changed is refused, or admitted and bounded", () => {
  it.each(samples)("%s", { timeout: 600_000 }, (_, bytes) => {
    let admitted = 0
    let refused = 0
    for (const [at, byte] of bytes.entries()) {
      for (const value of values(byte)) {
        const changed = Uint8Array.from(bytes)
        changed[at] = value
        if (survives(changed)) admitted++
        else refused++
      }
    }
    expect(admitted).toBeGreaterThan(50)
    expect(refused).toBeGreaterThan(admitted / 2)
  })
})

describe("a module that is cut", () => {
  it.each(samples)("%s: is refused at every length but those where a section ends", (_, bytes) => {
    for (let length = 0; length < bytes.length; length++) {
      const cut = bytes.slice(0, length)
      if (survives(cut)) expect(WebAssembly.validate(cut)).toBe(true)
    }
  })

  it.each(samples)("%s: or that has a byte more or less somewhere", (_, bytes) => {
    for (let at = 0; at < bytes.length; at++) {
      survives(Uint8Array.from([...bytes.slice(0, at), ...bytes.slice(at + 1)]))
      survives(Uint8Array.from([...bytes.slice(0, at), 0x80, ...bytes.slice(at)]))
    }
  })
})

describe("a large real module with a few bytes changed", () => {
  it("is refused, or admitted", { timeout: 600_000 }, () => {
    const bytes = llhttp("llhttp")
    const below = random(7)
    let admitted = 0
    for (let attempt = everything ? 5_000 : 60; attempt > 0; attempt--) {
      const changed = Uint8Array.from(bytes)
      for (let count = 1 + below(4); count > 0; count--) changed[below(bytes.length)] = below(256)
      if (survives(changed)) admitted++
    }
    expect(admitted).toBeGreaterThan(5)
  })
})
