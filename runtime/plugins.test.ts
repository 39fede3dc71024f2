/** A service whose plugins folder is damaged: it says so, and starts in safe mode. */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Settings, settingsForTests } from "#core/settings.ts"
import { homeOf } from "#runtime/plugin-host/packages/home.ts"
import { install } from "#runtime/plugin-host/packages/installed.ts"
import { lockFilePath, switchesFilePath } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { makePlugins } from "#runtime/plugins.ts"
import { coreServices } from "#runtime/services.ts"
import { testDatabase } from "#test/support/database.ts"
import { temporaryFolder, writePackage } from "#test/support/policy-package.ts"

const services = coreServices.pipe(
  Layer.provideMerge(testDatabase),
  Layer.provideMerge(Layer.succeed(Settings, settingsForTests())),
)

const damage: ReadonlyArray<readonly [what: string, path: (plugins: string) => string, remove: boolean]> = [
  ["a lock file that is damaged", lockFilePath, false],
  ["a lock file that is gone", lockFilePath, true],
  ["switches that are damaged", switchesFilePath, false],
]

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("plugins", (it) => {
  it.effect.each(damage)("with %s are not left out by themselves, but in safe mode", ([_, pathIn, remove]) =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const settings = settingsForTests({ Data: { Directory: join(folder, "data") } })
      const home = homeOf(settings)
      yield* install(home, writePackage(folder, "guard"), { allowUnsigned: true })
      const path = pathIn(home.plugins)
      if (remove) rmSync(path)
      else writeFileSync(path, '{"version":1,"plug')
      const { message } = yield* Effect.flip(makePlugins(settings, [], {}))
      expect(message).toContain(path)
      expect(message).toContain("svc serve --safe-mode")
      const { start, routes } = yield* makePlugins(settings, [], { safeMode: true })
      yield* start
      expect((yield* routes).length).toBeGreaterThan(0)
    }),
  )
})
