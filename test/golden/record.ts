/**
 * `npm run golden [-- NAME…]`: records golden logs anew, the named ones or all that are staged. What changed in them is
 * for a person to review. Exit codes: 0 written; 1 not; 2 there is no log of such a name.
 */
import { mkdtemp, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, References, Struct } from "effect"
import { migrate } from "#core/migrate.ts"
import { Settings, settingsForTests } from "#core/settings.ts"
import { layerDatabase } from "#runtime/database/layer.ts"
import { migrations } from "#runtime/migrations.ts"
import { coreServices } from "#runtime/services.ts"
import { demo, demoSettings } from "#test/golden/demo.ts"
import { type Line, writeLog } from "#test/golden/log.ts"
import { stories } from "#test/golden/staged/stories.ts"

const staged: ReadonlyArray<string> = Struct.keys(stories)
const known = [...staged, "demo"]

const temporaryFolder = Effect.acquireRelease(
  Effect.promise(async () => realpath(await mkdtemp(join(tmpdir(), "svc-golden-")))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 3 })),
)

const record = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const folder = yield* temporaryFolder
  const settings = settingsForTests({ ...demoSettings, Data: { Directory: join(folder, "data") } })
  const services = yield* Layer.build(
    coreServices.pipe(
      Layer.provideMerge(layerDatabase),
      Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Error")),
      Layer.provideMerge(Layer.succeed(Settings, settings)),
    ),
  )
  const write = (name: string, lines: ReadonlyArray<Line>) => {
    writeLog(name, lines)
    console.log(`${name}: ${lines.length} lines`)
  }
  yield* Effect.gen(function* () {
    yield* migrate(migrations)
    for (const name of Struct.keys(stories)) if (names.includes(name)) write(name, yield* stories[name])
    // last: from here on a replica drives what it finds
    if (names.includes("demo")) write("demo", yield* demo(folder))
  }).pipe(Effect.provideContext(services))
}, Effect.scoped)

const names = process.argv.slice(2)
const unknown = names.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`There is no log ${unknown.join(", ")}. There are: ${known.join(", ")}`)
  process.exit(2)
}
await Effect.runPromise(record(names.length === 0 ? staged : names))
process.exit(0)
