/** The table `model_providers`. */
import { Effect } from "effect"
import type { Fragment, SqlShape } from "#core/sql.ts"
import type { ProviderType, WireApi } from "#runtime/model/provider/provider.ts"

export interface StoredProvider {
  readonly id: string
  readonly name: string
  readonly type: ProviderType
  readonly baseUrl: string | null
  readonly model: string | null
  readonly wireApi: WireApi
  readonly azureApiVersion: string | null
  readonly sealed: string
  readonly hasApiKey: boolean
  readonly headerNames: ReadonlyArray<string>
  readonly isActive: boolean
}

export const makeProviderStore = (sql: SqlShape) => {
  const all: Fragment = sql.fragment`
    provider_id as id, name, type, base_url as "baseUrl", model, wire_api as "wireApi",
    azure_api_version as "azureApiVersion", sealed, has_api_key as "hasApiKey", header_names as "headerNames",
    is_active as "isActive"`
  const first = <A, E>(rows: Effect.Effect<ReadonlyArray<A>, E>) => Effect.map(rows, (found) => found[0])

  return {
    list: sql<StoredProvider>`select ${all} from model_providers order by created_at, provider_id`,
    find: (id: string) => first(sql<StoredProvider>`select ${all} from model_providers where provider_id = ${id}`),
    /** Until the transaction ends nobody else changes it. */
    lock: (id: string) =>
      first(sql<StoredProvider>`select ${all} from model_providers where provider_id = ${id} for update`),
    active: first(sql<StoredProvider>`select ${all} from model_providers where is_active`),
    insert: (row: StoredProvider) => sql`
      insert into model_providers (
        provider_id, name, type, base_url, model, wire_api, azure_api_version, sealed, has_api_key, header_names)
      values (
        ${row.id}, ${row.name}, ${row.type}, ${row.baseUrl}, ${row.model}, ${row.wireApi}, ${row.azureApiVersion},
        ${row.sealed}, ${row.hasApiKey}, ${row.headerNames}::text[])`,
    update: (row: StoredProvider) => sql`
      update model_providers
         set name = ${row.name}, type = ${row.type}, base_url = ${row.baseUrl}, model = ${row.model},
             wire_api = ${row.wireApi}, azure_api_version = ${row.azureApiVersion}, sealed = ${row.sealed},
             has_api_key = ${row.hasApiKey}, header_names = ${row.headerNames}::text[], updated_at = now()
       where provider_id = ${row.id}`,
    /** Only where nobody changed it meanwhile. */
    reseal: (id: string, sealed: string, before: string) =>
      sql`update model_providers set sealed = ${sealed} where provider_id = ${id} and sealed = ${before}`,
    remove: (id: string) =>
      Effect.map(
        sql`delete from model_providers where provider_id = ${id} returning provider_id`,
        (rows) => rows.length > 0,
      ),
    deactivate: sql`update model_providers set is_active = false where is_active`,
    activate: (id: string) => sql`update model_providers set is_active = true where provider_id = ${id}`,
  }
}
