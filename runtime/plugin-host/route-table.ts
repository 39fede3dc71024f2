/**
 * The routes of all plugins, as the gateway mounts them. A route stays mounted while its plugin is exchanged or
 * taken out: what changes is who answers. Where nobody does, it is a 503 that names the plugin.
 *
 * A mounted route never hands a request to a handler of another contract: where access or schemas have changed,
 * it answers 503 until the gateway has mounted the new one.
 */
import { Effect } from "effect"
import { refuse } from "#core/refusal.ts"
import { access, type Route } from "#core/route.ts"
import { routeKey } from "#runtime/plugin-host/candidate.ts"

export interface Serving {
  readonly route: Route
  /** Runs a request of the plugin. */
  readonly run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

interface Slot {
  readonly plugin: string
  serving: Serving | undefined
  mounted: Route
  /** Nobody's any more; kept for its plugin, should it come back while the gateway still has the route mounted. */
  gone: boolean
}

/** Where a route is mounted. */
export type Place = Pick<Route, "method" | "path">

export const makeRouteTable = (coreRoutes: ReadonlyArray<Place>) => {
  const slots = new Map<string, Slot>()
  const taken = new Set(coreRoutes.map(({ method, path }) => routeKey(method, path)))

  const mountedOf = (slot: Slot, contract: Route): Route => ({
    ...contract,
    handle: (request) =>
      Effect.suspend(() => {
        const { serving } = slot
        if (serving === undefined || !sameContract(serving.route, contract)) return unavailable(slot.plugin)
        return serving.run(Effect.suspend(() => serving.route.handle(request)))
      }),
  })

  /** A slot for a route of the plugin; one that it has already keeps its mounted route where that still fits. */
  const claim = (plugin: string, contract: Route, serving: Serving | undefined): void => {
    const key = routeKey(contract.method, contract.path)
    const known = slots.get(key)
    if (known?.plugin === plugin && sameContract(known.mounted, contract)) {
      known.serving = serving
      known.gone = false
      return
    }
    const slot: Slot = known?.plugin === plugin ? known : { plugin, serving, mounted: contract, gone: false }
    slot.serving = serving
    slot.gone = false
    slot.mounted = mountedOf(slot, contract)
    slots.set(key, slot)
  }

  const ofPlugin = (plugin: string) => [...slots].filter(([, slot]) => slot.plugin === plugin)

  const leave = (slot: Slot): void => {
    slot.serving = undefined
    slot.gone = true
  }

  return {
    /** Who has this route already: `core`, a plugin, or nobody. */
    ownerOf: ({ method, path }: Pick<Route, "method" | "path">): string | undefined => {
      const key = routeKey(method, path)
      const slot = slots.get(key)
      return taken.has(key) ? "core" : slot?.gone === false ? slot.plugin : undefined
    },
    /** From now on these are the plugin's routes, and no others. */
    serve: (plugin: string, serving: ReadonlyArray<Serving>): void => {
      const keys = new Set(serving.map(({ route }) => routeKey(route.method, route.path)))
      for (const [key, slot] of ofPlugin(plugin)) if (!keys.has(key)) leave(slot)
      for (const each of serving) claim(plugin, each.route, each)
    },
    /** Keeps the routes that the plugin has, and those that it told of in advance, with nobody to answer them. */
    suspend: (plugin: string, told: ReadonlyArray<string>): void => {
      for (const [, slot] of ofPlugin(plugin)) slot.serving = undefined
      for (const name of told) {
        const stub = stubOf(name)
        const key = stub === undefined ? undefined : routeKey(stub.method, stub.path)
        if (stub !== undefined && key !== undefined && !taken.has(key) && !slots.has(key))
          claim(plugin, stub, undefined)
      }
    },
    /** Requests that are on their way to it still get a 503. */
    remove: (plugin: string): void => {
      for (const [, slot] of ofPlugin(plugin)) leave(slot)
    },
    mounted: (): ReadonlyArray<Route> => [...slots.values()].flatMap(({ gone, mounted }) => (gone ? [] : [mounted])),
  }
}

export type RouteTable = ReturnType<typeof makeRouteTable>

const unavailable = (plugin: string) =>
  refuse("plugin_unavailable", { message: `The plugin ${plugin} is not running.`, extra: { plugin } })

/** What the gateway has done before the handler is called. */
const sameContract = (one: Route, other: Route): boolean =>
  one.path === other.path &&
  one.params === other.params &&
  one.query === other.query &&
  one.body === other.body &&
  one.bodyLimit === other.bodyLimit &&
  JSON.stringify(one.access) === JSON.stringify(other.access)

const routeName = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/
type StubMethod = Route["method"]

/** Nobody but a caller that is known learns that the plugin exists. */
const stubOf = (name: string): Route | undefined => {
  const [, method, path] = routeName.exec(name) ?? []
  if (method === undefined || path === undefined) return undefined
  return {
    method: method as StubMethod, // the expression allows no other
    path,
    access: access.authenticated,
    summary: "Not available: its plugin is not running",
    tag: "Plugins",
    refuses: ["plugin_unavailable"],
    handle: () => Effect.die("a route without a plugin was asked"),
  }
}
