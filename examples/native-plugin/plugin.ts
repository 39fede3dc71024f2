/**
 * A change freeze: while it holds, no approval of a review counts. An administrator sets it by hand, or the
 * settings name the hours of the week in which it always holds.
 *
 * It shows all that a plugin can have: settings, a table, routes, a tool, a guard and a task beside them. It takes
 * what it needs of the service from the kit, so that the folder may lie anywhere.
 */
import { join } from "node:path"
import type { PluginModule } from "#runtime/plugin-host/kit.ts"
import { days, windowAt } from "./window.ts"

interface Freeze {
  readonly reason: string
  readonly set_by: string
  /** ISO 8601; null for a freeze without an end. */
  readonly until: string | null
}

const plugin: PluginModule = ({
  Effect,
  Schema,
  Sql,
  HookFault,
  definePlugin,
  background,
  route,
  access,
  reply,
  toolFor,
  handler,
  allowed,
  refusedBecause,
  questions,
}) => {
  const hour = (least: number, most: number) => Schema.Int.check(Schema.isBetween({ minimum: least, maximum: most }))
  const Settings = Schema.Struct({
    Windows: Schema.Array(
      Schema.Struct({ Day: Schema.Literals(days), FromHour: hour(0, 23), ToHour: hour(1, 24) }),
    ).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  })
  const Body = Schema.Struct({
    reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500)),
    until: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?Z$/))),
  })
  const Answer = Schema.Struct({
    frozen: Schema.Boolean,
    reason: Schema.NullOr(Schema.String),
    set_by: Schema.NullOr(Schema.String),
    until: Schema.NullOr(Schema.String),
  })
  const tag = "Change freeze"
  const path = "/api/change-freeze"

  return definePlugin<typeof Settings.Type>({
    name: "change-freeze",
    version: "1.0.0",
    description: "Lets no approval count while a freeze holds.",
    engine: ">=0.1.0 <1.0.0",
    settings: Settings,
    migrations: join(import.meta.dirname, "migrations"),
    routes: ["GET /api/change-freeze", "PUT /api/change-freeze", "DELETE /api/change-freeze"],
    hooks: ["review.accept"],
    setup: Effect.fnUntraced(function* ({ Windows }) {
      const sql = yield* Sql

      const current = Effect.gen(function* () {
        const window = windowAt(Windows, new Date(yield* Effect.clockWith((clock) => clock.currentTimeMillis)))
        if (window !== undefined) {
          const reason = `Nothing is merged on ${window.Day} from ${window.FromHour} to ${window.ToHour} UTC.`
          return { reason, set_by: "settings", until: null }
        }
        const [freeze] = yield* sql<Freeze>`
          select reason, set_by, to_char(until at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until
            from change_freeze_current
           where until is null or until > now()`
        return freeze
      })

      const state = Effect.map(current, (freeze) =>
        freeze === undefined ? { frozen: false, reason: null, set_by: null, until: null } : { frozen: true, ...freeze },
      )

      // what is over means nothing any more; this only keeps the table tidy
      yield* background(
        "remove what is over",
        Effect.forever(
          Effect.andThen(sql`delete from change_freeze_current where until <= now()`, Effect.sleep("1 minute")),
        ),
      )

      const get = route<Record<never, never>, Record<never, never>, undefined, typeof Answer.Type>({
        method: "GET",
        path,
        access: access.authenticated,
        summary: "Does a change freeze hold?",
        tag,
        answer: Answer,
        handle: () => state,
      })

      return {
        routes: [
          get,
          route<Record<never, never>, Record<never, never>, typeof Body.Type, typeof Answer.Type>({
            method: "PUT",
            path,
            access: access.platformAdmin,
            summary: "Set a change freeze, in place of the one that may hold",
            tag,
            body: Body,
            answer: Answer,
            handle: Effect.fnUntraced(function* ({ body, caller }) {
              const by = caller.kind === "user" ? caller.subject : caller.kind
              yield* sql`
                insert into change_freeze_current (reason, set_by, until)
                values (${body.reason}, ${by}, ${body.until ?? null}::timestamptz)
                on conflict (only_one) do update
                   set reason = excluded.reason, set_by = excluded.set_by, until = excluded.until, set_at = now()`
              return yield* state
            }),
          }),
          route({
            method: "DELETE",
            path,
            access: access.platformAdmin,
            summary: "End the change freeze that was set by hand",
            tag,
            statuses: [204],
            handle: () => Effect.as(sql`delete from change_freeze_current`, reply.empty()),
          }),
        ],
        tools: [
          toolFor(get, { name: "change_freeze_get", description: "Says whether a change freeze holds, and why." }),
        ],
        hooks: [
          handler(questions.reviewAccept, () =>
            current.pipe(
              Effect.map((freeze) => (freeze === undefined ? allowed : refusedBecause(freeze.reason))),
              // nobody can say whether it holds: the guard refuses, as guards do
              Effect.mapError(({ message }) => new HookFault({ reason: "unavailable", message })),
            ),
          ),
        ],
      }
    }),
  })
}

export default plugin
