/**
 * Cross-origin requests with credentials, for exactly the origins that are configured: none by
 * default, no wildcard, nothing reflected. A preflight is answered before anybody is asked who they are,
 * and tells the same about every path.
 */
import type { HeaderRecord } from "#gateway/headers.ts"

const allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
const allowedHeaders =
  "authorization, content-type, idempotency-key, if-match, if-model-provider-key, last-event-id, x-csrf-token, x-request-id"
const exposedHeaders = "location, retry-after, x-request-id"
/** Seconds that a browser may remember a preflight. */
const preflightMaxAge = 600

export interface Cors {
  /** Headers for the answer to a request from `origin`. */
  readonly headers: (origin: string | null) => HeaderRecord
  /** Headers for the answer to a preflight from `origin`. */
  readonly preflight: (origin: string | null) => HeaderRecord
}

export const makeCors = (configured: ReadonlyArray<string>): Cors => {
  const origins = new Set(configured.map((origin) => origin.toLowerCase()))
  const vary: HeaderRecord = origins.size === 0 ? {} : { vary: "Origin" }
  const headers = (origin: string | null): HeaderRecord =>
    origin !== null && origins.has(origin.toLowerCase())
      ? {
          ...vary,
          "access-control-allow-origin": origin,
          "access-control-allow-credentials": "true",
          "access-control-expose-headers": exposedHeaders,
        }
      : vary
  return {
    headers,
    preflight: (origin) => {
      const granted = headers(origin)
      return "access-control-allow-origin" in granted
        ? {
            ...granted,
            "access-control-allow-methods": allowedMethods,
            "access-control-allow-headers": allowedHeaders,
            "access-control-max-age": String(preflightMaxAge),
          }
        : granted
    },
  }
}

/** A preflight is an OPTIONS request that names the method it asks for. */
export const isPreflight = (request: Request): boolean =>
  request.method === "OPTIONS" && request.headers.has("origin") && request.headers.has("access-control-request-method")
