/** A service with a project and a model, as tests of whole runs need it: everything over HTTP. */
import { Effect } from "effect"
import type { SettingsInput } from "#core/settings.ts"
import type { SandboxLimits } from "#runtime/sandbox/limits.ts"
import type { ModelCallReceived } from "#test/fakes/model-server.ts"
import { type OpenAiReply, startOpenAiServer } from "#test/fakes/openai-server.ts"
import { TestDatabase } from "#test/support/database.ts"
import { type TestRepository, testRepository } from "#test/support/repository.ts"
import { type startService, startServiceOn, users } from "#test/support/service.ts"
import { openStream, type SseClient } from "#test/support/sse.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

export interface Answered {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any
}

export const headersOf = (user: keyof typeof users) => ({
  authorization: `Bearer ${users[user]}`,
  "content-type": "application/json",
})

/** Calls a service as a user; `ada` where nobody is named. */
export const callerOf =
  (url: string) =>
  (method: string, path: string, body?: unknown, as: keyof typeof users = "ada"): Effect.Effect<Answered> =>
    Effect.promise(async () => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: headersOf(as),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === "" ? null : JSON.parse(text) }
    })

/** What a scripted model answers: by what it was asked, and how many answers it has given for that. */
export type Playing = (request: ModelCallReceived, index: number) => OpenAiReply

/** How many results of tools the model has seen since it was last told something by the user. */
export const resultsSince = (request: ModelCallReceived): number => {
  const messages: ReadonlyArray<{ readonly role: string }> = request.body.messages
  const last = messages.findLastIndex(({ role }) => role === "user")
  return messages.slice(last).filter(({ role }) => role === "tool").length
}

/** Is this the responsible-AI reviewer that is asked? */
export const isReviewer = (request: ModelCallReceived): boolean =>
  String(request.body.messages?.[0]?.content ?? "").includes("responsible-AI reviewer")

/** An agent that makes these calls one after the other, then says `text`; its reviewer has nothing to say. */
export const agentThat =
  (calls: ReadonlyArray<readonly [name: string, args: unknown]>, text = "All done."): Playing =>
  (request) => {
    if (isReviewer(request)) return { text: "Nothing found.\nVERDICT: GREEN" }
    const next = calls[resultsSince(request)]
    return next === undefined
      ? { text }
      : { text: "Let me see. ", calls: [{ name: next[0], arguments: next[1] }], finishReason: "tool_calls" }
  }

export interface Orchestra {
  readonly url: string
  readonly call: ReturnType<typeof callerOf>
  readonly repository: TestRepository
  readonly projectId: string
  readonly service: Effect.Success<ReturnType<typeof startService>>
  readonly settings: SettingsInput
  readonly requests: ReadonlyArray<ModelCallReceived>
  /** Starts a run in the project; gives its id. */
  readonly start: (task: string, more?: object) => Effect.Effect<string>
  /** The run's stream from its beginning. */
  readonly watch: (runId: string) => Effect.Effect<SseClient, never, import("effect").Scope.Scope>
  /** Waits for an event of one of these types; gives the types of all events so far. */
  readonly until: (runId: string, ...types: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
}

export const makeOrchestra = Effect.fnUntraced(function* (
  playing: Playing,
  options: {
    readonly settings?: SettingsInput
    readonly files?: Readonly<Record<string, string>>
    readonly limits?: Partial<SandboxLimits>
  } = {},
) {
  const model = yield* startOpenAiServer(playing)
  const repository = yield* testRepository(options.files)
  const settings: SettingsInput = {
    ...options.settings,
    Data: { Directory: yield* Effect.promise(temporaryFolder) },
    Providers: {
      Hosted: { BaseUrl: model.url, Model: "gpt-test", ApiKey: "sk-of-the-test-0123456789" },
      ...options.settings?.Providers,
    },
  }
  const service = yield* startServiceOn(yield* TestDatabase, { settings, limits: options.limits })
  const call = callerOf(service.url)
  const project = yield* call("POST", "/api/projects", {
    name: "one",
    origin: "blank",
    working_directory: repository.path,
  })
  const projectId: string = project.body.project_id
  const watch = (runId: string) => openStream(`${service.url}/api/runs/${runId}/stream`, headersOf("ada"))
  const orchestra: Orchestra = {
    url: service.url,
    call,
    repository,
    projectId,
    service,
    settings,
    requests: model.requests,
    start: (task, more = {}) =>
      Effect.map(call("POST", "/api/runs", { project_id: projectId, task, ...more }), ({ status, body }) => {
        if (status !== 201) throw new Error(`The run was not started: ${status} ${JSON.stringify(body)}`)
        return body.run_id
      }),
    watch,
    until: (runId, ...types) =>
      Effect.scoped(
        Effect.gen(function* () {
          const stream = yield* watch(runId)
          yield* Effect.promise(() =>
            stream.until((frames) => frames.some(({ event }) => event === "done" || types.includes(event ?? ""))),
          )
          return stream.frames.flatMap(({ event }) => (event === undefined || event === "done" ? [] : [event]))
        }),
      ),
  }
  return orchestra
})
