/** What a plugin contributed, looked at before any of it counts: plugins may be plain JavaScript. */
import { Effect, Result } from "effect"
import { alwaysClosed } from "#core/hook.ts"
import type { Contribution, Plugin } from "#core/plugin.ts"
import type { Route } from "#core/route.ts"
import { toolInput, toolNameForm } from "#core/tool.ts"
import { mount } from "#gateway/mount.ts"
import { routeKey } from "#runtime/plugin-host/candidate.ts"
import { questionProblem, type World } from "#runtime/plugin-host/check.ts"

type Problems = ReadonlyArray<string>

export interface Owners {
  readonly ofRoute: (route: Route) => string | undefined
  readonly ofTool: (name: string) => string | undefined
}

export const contributionProblems = (
  plugin: Plugin,
  contribution: Contribution,
  world: World,
  owners: Owners,
): Effect.Effect<Problems> =>
  Effect.gen(function* () {
    return [
      ...(yield* routeProblems(plugin, contribution, owners)),
      ...toolProblems(plugin, contribution, owners),
      ...hookProblems(plugin, contribution, world),
      ...(contribution.agentTools === undefined || typeof contribution.agentTools === "function"
        ? []
        : ["What it gives to agents is not a function of their run."]),
    ]
  }).pipe(
    Effect.catchDefect((defect) =>
      Effect.succeed([`What it contributes is not of the form of a contribution: ${String(defect)}`]),
    ),
  )

const routeProblems = Effect.fnUntraced(function* (plugin: Plugin, { routes = [] }: Contribution, owners: Owners) {
  const invalid = yield* mount(routes).pipe(
    Effect.as<Problems>([]),
    Effect.catchTag("RoutesInvalid", ({ problems }) => Effect.succeed(problems)),
  )
  const told = plugin.routes === undefined ? undefined : new Set(plugin.routes.map(keyOfName))
  return [
    ...invalid,
    ...routes.flatMap((route) => {
      const name = `${route.method} ${route.path}`
      const owner = owners.ofRoute(route)
      return [
        ...(owner === undefined || owner === plugin.name ? [] : [`The route ${name} belongs to ${owner}.`]),
        ...(route.vital === true ? [`The route ${name} says that it is vital, which only those of the core are.`] : []),
        ...(told?.has(routeKey(route.method, route.path)) === false
          ? [`The route ${name} is not among those that the plugin told of in advance.`]
          : []),
      ]
    }),
  ]
})

const keyOfName = (name: string): string => {
  const space = name.indexOf(" ")
  return routeKey(name.slice(0, space), name.slice(space + 1))
}

const toolProblems = (plugin: Plugin, { tools = [], routes = [] }: Contribution, owners: Owners): Problems =>
  tools.flatMap((tool, index) => {
    const owner = owners.ofTool(tool.name)
    const route = routes.find(({ method, path }) => method === tool.method && path === tool.path)
    const input = route === undefined ? undefined : toolInput(tool, route)
    return [
      ...(toolNameForm.test(tool.name) ? [] : [`The tool name ${JSON.stringify(tool.name)} is not in snake case.`]),
      ...(owner === undefined || owner === plugin.name ? [] : [`The tool ${tool.name} belongs to ${owner}.`]),
      ...(tools.findIndex(({ name }) => name === tool.name) === index ? [] : [`The tool ${tool.name} is there twice.`]),
      ...(route === undefined
        ? [`The tool ${tool.name} stands for ${tool.method} ${tool.path}, which is no route of the plugin.`]
        : []),
      ...(input !== undefined && Result.isFailure(input)
        ? [`The tool ${tool.name} does not fit its route: ${input.failure}.`]
        : []),
    ]
  })

const hookProblems = (plugin: Plugin, { hooks = [] }: Contribution, { questions }: World): Problems =>
  hooks.flatMap(({ question: name, priority, mode, answer }) => {
    const question = questions.find((known) => known.name === name)
    return [
      ...questionProblem(name, questions),
      ...(Number.isFinite(priority) ? [] : [`The priority of its answer to ${name} is not a number.`]),
      ...(typeof answer === "function" ? [] : [`Its answer to ${name} is not a function.`]),
      // otherwise the question would be open while the plugin cannot start; a shadow opens nothing
      ...(question !== undefined && mode !== "shadow" && alwaysClosed(question) && !(plugin.hooks ?? []).includes(name)
        ? [`It answers ${name}, which fails closed, and did not tell so in advance: add it to the plugin's hooks.`]
        : []),
    ]
  })
