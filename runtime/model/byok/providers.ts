/**
 * Providers that administrators add while the service runs. Their keys and the values of their headers are
 * sealed in the database, and leave it only to ask the provider. At most one is active.
 */
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { isId, newId } from "#core/ids.ts"
import { Settings } from "#core/settings.ts"
import { type DatabaseUnavailable, onUniqueViolation, Sql } from "#core/sql.ts"
import { CannotUnseal, type Sealing } from "#runtime/model/byok/sealing.ts"
import { type SealingKeyUnusable, sealingOf } from "#runtime/model/byok/sealing-key.ts"
import { makeProviderStore, type StoredProvider } from "#runtime/model/byok/store.ts"
import { addressOf, type Provider } from "#runtime/model/provider/provider.ts"

/** What may be shown. */
export type ProviderSummary = Omit<StoredProvider, "sealed">

/** Everything but the secrets. */
type Open = Pick<StoredProvider, "name" | "type" | "baseUrl" | "model" | "wireApi" | "azureApiVersion">

export interface ProviderInput extends Open {
  /** Undefined keeps the stored one, null takes it away. */
  readonly apiKey: string | null | undefined
  /** Undefined keeps all; a value that is null keeps the stored one of that name. */
  readonly headers: Readonly<Record<string, string | null>> | undefined
}

export class UnknownProvider extends Schema.TaggedError<UnknownProvider>()("UnknownProvider", {
  message: Schema.String,
}) {}
/** A key goes to the address that it was given for, and to no other. */
export class AddressChanged extends Schema.TaggedError<AddressChanged>()("AddressChanged", {
  message: Schema.String,
}) {}
export class NameTaken extends Schema.TaggedError<NameTaken>()("NameTaken", { message: Schema.String }) {}

type Sealed = CannotUnseal | SealingKeyUnusable

const Secrets = Schema.Struct({
  apiKey: Schema.NullOr(Schema.String),
  headers: Schema.Record(Schema.String, Schema.String),
})
type Secrets = typeof Secrets.Type

const readSecrets = Schema.decodeUnknownSync(Schema.fromJsonString(Secrets))

export class ByokProviders extends Context.Service<
  ByokProviders,
  {
    readonly list: Effect.Effect<ReadonlyArray<ProviderSummary>, DatabaseUnavailable>
    readonly create: (
      input: ProviderInput,
    ) => Effect.Effect<ProviderSummary, NameTaken | SealingKeyUnusable | DatabaseUnavailable>
    readonly update: (
      id: string,
      input: ProviderInput,
    ) => Effect.Effect<ProviderSummary, UnknownProvider | NameTaken | AddressChanged | Sealed | DatabaseUnavailable>
    readonly remove: (id: string) => Effect.Effect<void, UnknownProvider | DatabaseUnavailable>
    /** The one that was active is not any more. */
    readonly activate: (id: string) => Effect.Effect<ProviderSummary, UnknownProvider | DatabaseUnavailable>
    readonly deactivate: Effect.Effect<void, DatabaseUnavailable>
    /** To ask it. Null is the active one; undefined where there is none. */
    readonly open: (
      id: string | null,
    ) => Effect.Effect<(Provider & { readonly id: string }) | undefined, Sealed | DatabaseUnavailable>
  }
>()("runtime/ByokProviders") {
  static readonly layer: Layer.Layer<ByokProviders, never, Sql | Settings> = Layer.effect(
    ByokProviders,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* Sql
  const settings = yield* Settings
  const store = makeProviderStore(sql)
  // the key is made when the first secret comes; one that cannot be used may be usable later
  let known: Sealing | undefined
  const sealing = Effect.suspend(() =>
    known === undefined
      ? Effect.tap(sealingOf(settings), (made) => Effect.sync(() => (known = made)))
      : Effect.succeed(known),
  )

  const secretsOf = Effect.fnUntraced(function* (row: StoredProvider) {
    const { unseal, seal, isCurrent } = yield* sealing
    const text = yield* Effect.try({
      try: () => unseal(row.sealed, row.id),
      catch: (error) =>
        error instanceof CannotUnseal ? error : new CannotUnseal({ message: "What was sealed cannot be read" }),
    })
    // a key that is out of use is needed until everything was read once
    if (!isCurrent(row.sealed)) yield* store.reseal(row.id, seal(text, row.id), row.sealed)
    return readSecrets(text)
  })

  const sealedRow = Effect.fnUntraced(function* (
    id: string,
    input: ProviderInput,
    secrets: Secrets,
    isActive: boolean,
  ) {
    const { seal } = yield* sealing
    const { name, type, baseUrl, model, wireApi, azureApiVersion } = input
    return {
      ...{ id, name, type, baseUrl, model, wireApi, azureApiVersion, isActive },
      sealed: seal(JSON.stringify(secrets), id),
      hasApiKey: secrets.apiKey !== null,
      headerNames: Object.keys(secrets.headers).sort(),
    } satisfies StoredProvider
  })

  const orTaken = onUniqueViolation("model_providers_name_key", () =>
    Effect.fail(new NameTaken({ message: "Another provider has this name." })),
  )
  const unknown = new UnknownProvider({ message: "There is no such provider." })
  const addressChanged = new AddressChanged({
    message: "The provider is another one at this address: send its key and headers, or null for none.",
  })

  return ByokProviders.of({
    list: Effect.gen(function* () {
      const rows = yield* store.list
      // with every look at the list, what an old key sealed gets the new one; what cannot be opened is still listed
      yield* Effect.forEach(rows, (row) => Effect.ignore(secretsOf(row)), { discard: true })
      return rows.map(summaryOf)
    }),
    create: Effect.fn("ByokProviders.create")(function* (input) {
      const row = yield* sealedRow(newId(), input, mergedSecrets(input, noSecrets), false)
      yield* orTaken(store.insert(row))
      return summaryOf(row)
    }),
    update: Effect.fn("ByokProviders.update")(function* (id, input) {
      return yield* sql.transaction(
        Effect.gen(function* () {
          const before = yield* store.lock(id)
          if (before === undefined) return yield* unknown
          // where everything is given anew, the old secrets need not be readable
          const keeps = keepsSecret(input, before)
          if (keeps && originOf(input) !== originOf(before)) return yield* addressChanged
          const row = yield* sealedRow(
            id,
            input,
            mergedSecrets(input, keeps ? yield* secretsOf(before) : noSecrets),
            before.isActive,
          )
          yield* orTaken(store.update(row))
          return summaryOf(row)
        }),
      )
    }),
    remove: Effect.fn("ByokProviders.remove")(function* (id) {
      if (!(yield* store.remove(id))) return yield* unknown
    }),
    activate: Effect.fn("ByokProviders.activate")(function* (id) {
      return yield* sql.transaction(
        Effect.gen(function* () {
          // two that are activated at once come one after the other
          yield* sql`select pg_advisory_xact_lock(hashtext('model_providers.is_active'))`
          const row = yield* store.lock(id)
          if (row === undefined) return yield* unknown
          yield* store.deactivate
          yield* store.activate(id)
          return { ...summaryOf(row), isActive: true }
        }),
      )
    }),
    deactivate: Effect.asVoid(store.deactivate),
    open: Effect.fn("ByokProviders.open")(function* (id) {
      // what is no id is that of no provider
      if (id !== null && !isId(id)) return undefined
      const row = yield* id === null ? store.active : store.find(id)
      if (row === undefined) return undefined
      const { apiKey, headers } = yield* secretsOf(row)
      const { type, wireApi, baseUrl, azureApiVersion, model } = row
      return {
        ...{ id: row.id, type, wireApi, baseUrl, azureApiVersion, model },
        apiKey: apiKey === null ? null : Redacted.make(apiKey),
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.make(value)])),
      }
    }),
  })
})

const noSecrets: Secrets = { apiKey: null, headers: {} }

const keepsSecret = ({ apiKey, headers }: ProviderInput, { hasApiKey, headerNames }: StoredProvider): boolean =>
  (apiKey === undefined && hasApiKey) ||
  (headerNames.length > 0 && (headers === undefined || Object.values(headers).includes(null)))

const originOf = (provider: Pick<Provider, "type" | "baseUrl">): string | undefined => {
  const address = addressOf(provider)
  return address === undefined ? undefined : new URL(address).origin
}

const mergedSecrets = ({ apiKey, headers }: ProviderInput, before: Secrets): Secrets => ({
  apiKey: apiKey === undefined ? before.apiKey : apiKey,
  headers:
    headers === undefined
      ? before.headers
      : Object.fromEntries(
          Object.entries(headers).flatMap(([name, value]) => {
            const kept = value ?? before.headers[name]
            return kept === undefined ? [] : [[name, kept]]
          }),
        ),
})

const summaryOf = ({ sealed: _, ...row }: StoredProvider): ProviderSummary => row
