/** Packages of small policies in folders of their own, for tests; everything is removed with the test's scope. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import { sha256Of } from "#runtime/plugin-host/wasm/admission.ts"
import { extismModule } from "#runtime/plugin-host/wasm/extism-abi.ts"
import { wat } from "#test/fixtures/wasm/wat.ts"

/** A folder for one test. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-plugins-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

const imports = `
  (import "${extismModule}" "alloc" (func $alloc (param i64) (result i64)))
  (import "${extismModule}" "store_u8" (func $store8 (param i64 i32)))
  (import "${extismModule}" "length" (func $length (param i64) (result i64)))
  (import "${extismModule}" "config_get" (func $config (param i64) (result i64)))
  (import "${extismModule}" "output_set" (func $output (param i64 i64)))`

/** In WebAssembly text, the function `$text`: puts the module's text into the exchange. */
const withText = (text: string, answer: string): Uint8Array =>
  wat(`(module ${imports} (memory 1) (data (i32.const 0) "${text.replaceAll('"', "\\22")}")
    (func $text (result i64) (local $at i64) (local $i i32)
      (local.set $at (call $alloc (i64.const ${text.length})))
      (block (loop
        (br_if 1 (i32.ge_u (local.get $i) (i32.const ${text.length})))
        (call $store8 (i64.add (local.get $at) (i64.extend_i32_u (local.get $i))) (i32.load8_u (local.get $i)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br 0)))
      (local.get $at))
    (func (export "answer") (result i32) ${answer} (i32.const 0))
    (func (export "spin") (result i32) (loop (br 0)) (i32.const 0)))`)

/** Answers every question alike: ASCII JSON. `spin` never ends. */
export const answering = (json: string): Uint8Array =>
  withText(json, `(call $output (call $text) (i64.const ${json.length}))`)

/** Answers with its setting of that name, which has to be JSON; with nothing where it has none. */
export const answeringSetting = (name: string): Uint8Array =>
  withText(
    name,
    `(local $at i64) (local.set $at (call $config (call $text)))
     (call $output (local.get $at) (call $length (local.get $at)))`,
  )

export const allowing = answering('{"decision":"allow"}')

export interface PackageSpec {
  readonly name?: string
  readonly version?: string
  readonly wasm?: Uint8Array
  /** Over our part of the manifest. */
  readonly svc?: Readonly<Record<string, unknown>>
  readonly root?: Readonly<Record<string, unknown>>
  /** Gives the signature of a canonical manifest. */
  readonly sign?: (canonical: string) => string
}

export const manifestFor = ({ name, version, wasm = allowing, svc, root }: PackageSpec = {}) => ({
  $schema: "https://example.com/plugin.schema.json",
  name: name ?? "guard",
  version: version ?? "1.0.0",
  ...root,
  extensions: {
    svc: {
      kind: "wasm",
      abi: 1,
      engine: "*",
      entry: "./policy.wasm",
      sha256: sha256Of(wasm),
      hooks: { "command.run": "answer" },
      // so that a busy machine never takes a test for a late answer
      limits: { wallClock: 2_000 },
      ...svc,
    },
  },
})

/** Writes the package into a new folder of that name, and gives its path. */
export const writePackage = (parent: string, folder: string, spec: PackageSpec = {}): string => {
  const path = join(parent, folder)
  const manifest = manifestFor(spec)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, "plugin.json"), JSON.stringify(manifest, null, 2))
  if (spec.sign !== undefined) writeFileSync(join(path, "plugin.sig"), spec.sign(canonicalJson(manifest)))
  writeFileSync(join(path, "policy.wasm"), spec.wasm ?? allowing)
  return path
}
