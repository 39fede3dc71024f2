/**
 * What administrators do to plugins while the service runs, so that it lasts: each change is kept in the plugins folder, which is the
 * one place that says what runs, and has taken effect on this replica when it is answered. The others that share the folder follow.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { type Refusal, refuse, refuseInput } from "#core/refusal.ts"
import { Sql } from "#core/sql.ts"
import { type Follower, type Known, makeFollower } from "#runtime/plugin-host/follow.ts"
import { PluginHost } from "#runtime/plugin-host/host.ts"
import { forgetKeptValues } from "#runtime/plugin-host/io/kept-values.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { inspect } from "#runtime/plugin-host/packages/inspection.ts"
import { entryNamed, grant, revoke, setEnabled, uninstall } from "#runtime/plugin-host/packages/installed.ts"
import type { PermissionName } from "#runtime/plugin-host/packages/permissions.ts"
import type { PackageRefused } from "#runtime/plugin-host/packages/refused.ts"
import { writeSwitch } from "#runtime/plugin-host/packages/switches-file.ts"
import type { PluginReport } from "#runtime/plugin-host/report.ts"

export const GrantReport = Schema.Struct({
  name: Schema.String,
  /** Of the version that runs, or else of the one that waits. */
  version: Schema.String,
  granted: Schema.Array(Schema.String),
  /** A version that was not granted all that it asks for; the one before it stays. */
  waiting: Schema.NullOr(Schema.Struct({ version: Schema.String, missing: Schema.Array(Schema.String) })),
  /** Why it does not run as it is; null where nothing keeps it from running. */
  problem: Schema.NullOr(Schema.String),
})
export type GrantReport = typeof GrantReport.Type

export interface PluginAdministrationShape {
  readonly follower: Follower
  /** Fails with `plugin_not_startable`; then it is as it was. */
  readonly enable: (name: string) => Effect.Effect<PluginReport, Refusal>
  /** Fails with `plugin_required` where a running plugin relies on it. */
  readonly disable: (name: string) => Effect.Effect<PluginReport, Refusal>
  /** Removes a package with its grants. What is code of the service can only be disabled. */
  readonly uninstall: (name: string) => Effect.Effect<void, Refusal>
  readonly grants: (name: string) => Effect.Effect<GrantReport, Refusal>
  /** No names: all that it asks for. */
  readonly grant: (name: string, names: ReadonlyArray<PermissionName>) => Effect.Effect<GrantReport, Refusal>
  /** No names: all that it has. The policy does not run until it is granted again; its guards are closed. */
  readonly revoke: (name: string, names: ReadonlyArray<PermissionName>) => Effect.Effect<GrantReport, Refusal>
}

export class PluginAdministration extends Context.Service<PluginAdministration, PluginAdministrationShape>()(
  "runtime/plugin-host/PluginAdministration",
) {
  static readonly layer = (home: Home, known: Known): Layer.Layer<PluginAdministration, never, PluginHost | Sql> =>
    Layer.effect(PluginAdministration, makeAdministration(home, known))
}

const makeAdministration = Effect.fnUntraced(function* (home: Home, known: Known) {
  const host = yield* PluginHost
  const sql = yield* Sql
  /** The next plugin of this name does not inherit what it kept, whichever process uninstalled it. */
  const forget = (name: string) =>
    forgetKeptValues(name).pipe(
      Effect.provideService(Sql, sql),
      Effect.catchTag("DatabaseUnavailable", ({ message }) =>
        Effect.logWarning(`What ${name} kept in the database is still there: ${message}`),
      ),
    )
  const follower = yield* makeFollower(host, home, known, (name) => Effect.asVoid(forget(name)))

  const find = Effect.fnUntraced(function* (name: string) {
    const report = (yield* host.list).find((each) => each.name === name)
    return report ?? (yield* refuse("plugin_not_found"))
  })

  const packageNamed = Effect.fnUntraced(function* (name: string) {
    const { kind } = yield* find(name)
    if (kind === "wasm") return
    return yield* refuse("conflict", {
      message: `${name} is code of the service: it has no grants, and can be disabled, not uninstalled.`,
    })
  })

  /** Of a package: as the lock file says from now on. */
  const switchPackage = Effect.fnUntraced(function* (name: string, on: boolean) {
    const before = yield* kept(entryNamed(home, name))
    yield* kept(setEnabled(home, name, on))
    yield* follower.look
    if (!on) return yield* find(name)
    // also out of quarantine, where the lock file has not changed
    return yield* host
      .enable(name)
      .pipe(
        Effect.tapError(() =>
          before.enabled ? Effect.void : Effect.andThen(Effect.ignore(setEnabled(home, name, false)), follower.look),
        ),
      )
  })

  const report = Effect.fnUntraced(function* (name: string) {
    const shown = yield* kept(Effect.flatMap(entryNamed(home, name), (entry) => inspect(home, name, entry)))
    const { version, grants, pending, problem } = shown
    const waiting = pending === null ? null : { version: pending.version, missing: pending.permissions.missing }
    return { name, version, granted: grants, waiting, problem } satisfies GrantReport
  })

  const granting = (change: typeof grant) =>
    Effect.fnUntraced(function* (name: string, names: ReadonlyArray<PermissionName>) {
      yield* packageNamed(name)
      yield* kept(change(home, name, names))
      yield* follower.look
      return yield* report(name)
    })

  return PluginAdministration.of({
    follower,
    enable: Effect.fn("Plugins.enable")(function* (name) {
      if ((yield* find(name)).kind === "wasm") return yield* switchPackage(name, true)
      const enabled = yield* host.enable(name)
      yield* orElse(kept(writeSwitch(home.plugins, name, true)), host.disable(name))
      return enabled
    }),
    disable: Effect.fn("Plugins.disable")(function* (name) {
      const { kind } = yield* find(name)
      const disabled = yield* host.disable(name)
      const change = kind === "wasm" ? switchPackage(name, false) : kept(writeSwitch(home.plugins, name, false))
      yield* orElse(change, host.enable(name))
      return disabled
    }),
    uninstall: Effect.fn("Plugins.uninstall")(function* (name) {
      yield* packageNamed(name)
      yield* host.disable(name)
      yield* orElse(kept(uninstall(home, name)), host.enable(name))
      yield* follower.look
    }),
    grants: (name) => Effect.andThen(packageNamed(name), report(name)),
    grant: granting(grant),
    revoke: granting(revoke),
  })
})

/** A change that cannot be kept is undone. */
const orElse = <A>(change: Effect.Effect<A, Refusal>, undo: Effect.Effect<unknown, Refusal>) =>
  Effect.tapError(change, () => Effect.ignore(undo))

/** In the words of the interface. */
const kept = <A>(change: Effect.Effect<A, PackageRefused>): Effect.Effect<A, Refusal> =>
  Effect.mapError(change, ({ reason, message }) => {
    switch (reason) {
      case "unknown":
        return refuseInput([{ path: "body.permissions", message }])
      case "state":
      case "unreadable":
        return refuse("workspace_mount_unavailable", { message })
      case "manifest":
      case "archive":
      case "modified":
      case "signature":
      case "module":
      case "conflict":
        return refuse("conflict", { message })
    }
  })
