/** Whole replicas with policies installed in a folder of their own, asked over HTTP by the plugin of fixtures/plugins/asking.ts. */
import { join } from "node:path"
import { Effect, Schedule } from "effect"
import type { SettingsInput } from "#core/settings.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { type InstallOptions, install } from "#runtime/plugin-host/packages/installed.ts"
import { pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { version } from "#runtime/version.ts"
import { answering, type PackageSpec, temporaryFolder, writePackage } from "#test/support/policy-package.ts"
import { startService, users } from "#test/support/service.ts"

const asking = join(import.meta.dirname, "../fixtures/plugins/asking.ts")

export const command = (runId: string) => ({
  runId,
  agentName: "Writer",
  callId: "c1",
  command: "ls",
  commandHash: "sha256:0",
  workingDirectory: ".",
})

export const model = (runId: string) => ({
  runId,
  projectId: null,
  agentName: "Writer",
  subtask: null,
  requestedModelId: null,
  agentModelId: null,
  projectModelId: null,
  defaultModelId: "default",
})

export const refusing = (reason: string) => answering(JSON.stringify({ decision: "refuse", reason }))
export const choosing = (modelId: string) => answering(JSON.stringify({ modelId, rationale: "test" }))
export const choosesModel = { hooks: { "model.choose": "answer" } }

export interface Answered {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any
}

/** A data folder with packages beside it. `start` gives a replica on it: `ada` is its administrator, `ben` is not. */
export const policyPlace = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const data = join(folder, "data")
  const home: Home = { plugins: pluginsFolder(data), world: { version } }
  let made = 0
  const installing = (spec: PackageSpec, options: InstallOptions = {}) =>
    Effect.suspend(() =>
      install(home, writePackage(folder, `package-${made++}`, spec), { allowUnsigned: true, ...options }),
    )
  const start = (plugins: SettingsInput["Plugins"] = {}) =>
    Effect.map(
      startService({
        Data: { Directory: data },
        Auth: { PlatformAdministrators: ["ada"] },
        Plugins: { Native: [{ Name: "asking", Path: asking }], ...plugins },
      }),
      (service) => ({ ...service, ...clientOf(service.url) }),
    )
  return { folder, data, home, installing, start }
})

const clientOf = (url: string) => {
  const call = (what: string, { as = "ada", body }: { as?: keyof typeof users; body?: unknown } = {}) =>
    Effect.promise(async (): Promise<Answered> => {
      const [method = "", path = ""] = what.split(" ")
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${users[as]}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
    })
  const ask = (question: string, input: unknown, runId?: string) =>
    call(`POST /api/asking/${question}`, { body: { input, ...(runId === undefined ? {} : { run_id: runId }) } })
  return { call, ask }
}

/** Asks again until it is so: for what another process or replica has changed. */
export const until = <A>(effect: Effect.Effect<A>, holds: (value: A) => boolean) =>
  effect.pipe(
    Effect.filterOrFail(holds, (value) => value),
    Effect.retry(Schedule.spaced("20 millis").pipe(Schedule.upTo({ duration: "20 seconds" }))),
    Effect.catch((value) => Effect.die(new Error(`It did not come to be; last seen: ${JSON.stringify(value)}`))),
  )
