/** The services of the core on a database: what the gateway, the command line and the tests work with. */
import { Layer } from "effect"
import { accessLayer } from "#core/auth/access-store.ts"
import { EventLog } from "#core/event-log.ts"
import { Projects } from "#core/project/projects.ts"
import { RoleAssignments } from "#core/project/role-assignments.ts"
import { RunControl } from "#core/run/control.ts"
import { RunLife } from "#core/run/life.ts"
import { Runs } from "#core/run/runs.ts"
import { RunWaits } from "#core/run/waits.ts"
import { Streams } from "#gateway/streams/streams.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { checkoutsLayer } from "#runtime/git/checkouts.ts"
import { repositoryLayer } from "#runtime/git/repository.ts"
import { ByokProviders } from "#runtime/model/byok/providers.ts"
import { modelsLayer } from "#runtime/model/models.ts"
import { coordinatorWorldLayer } from "#runtime/orchestration/world.ts"
import { Outgoing } from "#runtime/outgoing/outgoing.ts"
import { hooksLayer } from "#runtime/plugin-host/hooks/layer.ts"
import { sandboxLayer } from "#runtime/sandbox/sandbox.ts"

/** What acts in the world: models, checkouts, commands, pages. */
const world = Layer.mergeAll(
  modelsLayer.pipe(Layer.provideMerge(ByokProviders.layer)),
  checkoutsLayer,
  sandboxLayer,
  Outgoing.layer,
)

const core = Layer.mergeAll(
  Projects.layer,
  RunControl.layer,
  RunWaits.layer,
  RoleAssignments.layer,
  Streams.layer,
  hooksLayer,
).pipe(
  Layer.provideMerge(Layer.mergeAll(Runs.layer, RunLife.layer, accessLayer, repositoryLayer)),
  Layer.provideMerge(world),
  Layer.provideMerge(EventLog.layer),
)

/** Needs `Sql` and `Settings`. */
export const coreServices = coordinatorWorldLayer.pipe(
  Layer.provideMerge(CoordinatorStore.layer),
  Layer.provideMerge(core),
)
