/** The services of the core on the database of this test file; another replica of them on the same database. */
import { Context, Effect, Layer } from "effect"
import { accessLayer } from "#core/auth/access-store.ts"
import { EventLog } from "#core/event-log.ts"
import { Hooks } from "#core/hook.ts"
import { Projects } from "#core/project/projects.ts"
import { RoleAssignments } from "#core/project/role-assignments.ts"
import { RunControl } from "#core/run/control.ts"
import { Runs } from "#core/run/runs.ts"
import { RunWaits } from "#core/run/waits.ts"
import { Settings, type SettingsInput, settingsForTests } from "#core/settings.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { checkoutsLayer } from "#runtime/git/checkouts.ts"
import { type Folders, layerFakeRepository } from "#test/fakes/repository.ts"
import { sqlOfTest, testDatabase } from "#test/support/database.ts"

const services = Layer.mergeAll(
  RunControl.layer,
  RunWaits.layer,
  RoleAssignments.layer,
  accessLayer,
  Projects.layer,
  checkoutsLayer,
  Hooks.layerBuiltIn,
).pipe(Layer.provideMerge(CoordinatorStore.layer), Layer.provideMerge(Runs.layer), Layer.provideMerge(EventLog.layer))

const world = (settings: SettingsInput, folders: Folders) =>
  Layer.merge(layerFakeRepository(folders), Layer.succeed(Settings, settingsForTests(settings)))

/** `folders` is the disk: change it and the services see it. */
export const coreServices = (settings: SettingsInput = {}, folders: Folders = new Map()) =>
  services.pipe(Layer.provideMerge(world(settings, folders)), Layer.provideMerge(testDatabase))

/** A second replica: services and connections of its own, the same database. */
export const anotherReplica = (settings: SettingsInput = {}, folders: Folders = new Map()) =>
  Effect.map(
    Layer.build(
      Layer.fresh(services.pipe(Layer.provide(world(settings, folders)), Layer.provide(Layer.fresh(sqlOfTest)))),
    ),
    (context) => ({
      runs: Context.get(context, Runs),
      control: Context.get(context, RunControl),
      projects: Context.get(context, Projects),
      roles: Context.get(context, RoleAssignments),
      log: Context.get(context, EventLog),
    }),
  )
