/** `/api/admin/byok-providers`: providers of models, for platform administrators. Secrets go in and never come out. */
import { Effect } from "effect"
import { isId } from "#core/ids.ts"
import { type Refusal, refuse, refuseInput } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import { answerOf, inputOf, issuesOf, ProviderAnswer, ProviderBody, ProviderList } from "#runtime/model/byok/body.ts"
import {
  type AddressChanged,
  ByokProviders,
  type NameTaken,
  type UnknownProvider,
} from "#runtime/model/byok/providers.ts"
import type { CannotUnseal } from "#runtime/model/byok/sealing.ts"
import type { SealingKeyUnusable } from "#runtime/model/byok/sealing-key.ts"

const tag = "Model providers"
const path = "/api/admin/byok-providers"

type Nothing = Record<never, never>
interface ById {
  readonly id: string
}

const read = (body: ProviderBody) => {
  const issues = issuesOf(body)
  return issues.length > 0 ? Effect.fail(refuseInput(issues)) : Effect.succeed(inputOf(body))
}

type Failure = UnknownProvider | NameTaken | AddressChanged | CannotUnseal | SealingKeyUnusable | DatabaseUnavailable

/** The failures in the words of the interface. */
const refusing = <A>(effect: Effect.Effect<A, Failure>): Effect.Effect<A, Refusal | DatabaseUnavailable> =>
  Effect.catch(effect, (failure): Effect.Effect<never, Refusal | DatabaseUnavailable> => {
    const { message } = failure
    switch (failure._tag) {
      case "UnknownProvider":
        return Effect.fail(refuse("not_found", { message }))
      case "NameTaken":
      case "AddressChanged":
        return Effect.fail(refuse("conflict", { message }))
      case "CannotUnseal":
        return Effect.fail(refuse("conflict", { message: `${message}. Send the key and all headers again.` }))
      case "SealingKeyUnusable":
        // the message names a path of the machine
        return Effect.andThen(Effect.logError(message), Effect.fail(refuse("internal_error")))
      case "DatabaseUnavailable":
        return Effect.fail(failure)
    }
  })

/** An id that can be none is that of no provider. */
const known = (id: string) =>
  isId(id) ? Effect.succeed(id) : Effect.fail(refuse("not_found", { message: "There is no such provider." }))

export const byokRoutes: Effect.Effect<ReadonlyArray<Route>, never, ByokProviders> = Effect.gen(function* () {
  const providers = yield* ByokProviders
  return [
    route<Nothing, Nothing, undefined, ProviderList>({
      method: "GET",
      path,
      access: access.platformAdmin,
      summary: "The providers that administrators added, and which of them is active",
      tag,
      answer: ProviderList,
      handle: () =>
        Effect.map(providers.list, (list) => ({
          active_provider_id: list.find(({ isActive }) => isActive)?.id ?? null,
          providers: list.map(answerOf),
        })),
    }),
    route<Nothing, Nothing, ProviderBody, ProviderAnswer>({
      method: "POST",
      path,
      access: access.platformAdmin,
      summary: "Add a provider; it is not active yet",
      tag,
      body: ProviderBody,
      answer: ProviderAnswer,
      statuses: [201],
      refuses: ["conflict"],
      handle: Effect.fn("byok.create")(function* ({ body }) {
        const made = yield* refusing(providers.create(yield* read(body)))
        return reply.json(201, answerOf(made), { location: `${path}/${made.id}` })
      }),
    }),
    route<ById, Nothing, ProviderBody, ProviderAnswer>({
      method: "PUT",
      path: `${path}/{id}`,
      access: access.platformAdmin,
      summary: "Change a provider; a key or headers that are not sent stay as they are",
      tag,
      body: ProviderBody,
      answer: ProviderAnswer,
      refuses: ["not_found", "conflict"],
      handle: Effect.fn("byok.update")(function* ({ params, body }) {
        const id = yield* known(params.id)
        return answerOf(yield* refusing(providers.update(id, yield* read(body))))
      }),
    }),
    route<ById>({
      method: "DELETE",
      path: `${path}/{id}`,
      access: access.platformAdmin,
      summary: "Delete a provider with its key; where it was active, the one of the settings takes its place",
      tag,
      statuses: [204],
      refuses: ["not_found"],
      handle: Effect.fn("byok.remove")(function* ({ params }) {
        yield* refusing(providers.remove(yield* known(params.id)))
        return reply.empty()
      }),
    }),
    route<ById, Nothing, undefined, ProviderAnswer>({
      method: "POST",
      path: `${path}/{id}/activate`,
      access: access.platformAdmin,
      summary: "Make this the provider of the source `byok`",
      tag,
      answer: ProviderAnswer,
      refuses: ["not_found"],
      handle: Effect.fn("byok.activate")(function* ({ params }) {
        return answerOf(yield* refusing(providers.activate(yield* known(params.id))))
      }),
    }),
    route({
      method: "POST",
      path: `${path}/deactivate`,
      access: access.platformAdmin,
      summary: "Go back to the provider of the settings",
      tag,
      statuses: [204],
      handle: Effect.fn("byok.deactivate")(function* () {
        yield* providers.deactivate
        return reply.empty()
      }),
    }),
  ]
})
