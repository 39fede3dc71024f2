/** Where a server is, as the driver wants to be told. */
import { Redacted } from "effect"

/** An address (`postgres://…`), or its parts. */
export type Server =
  | Redacted.Redacted
  | {
      /** A name or number; one that begins with `/` is the folder of a unix socket. */
      readonly host: string
      readonly port: number
      readonly user: string
      readonly database: string
      readonly password?: Redacted.Redacted
    }

export interface DriverAddress {
  readonly url?: string
  readonly options: Readonly<Record<string, string | number>>
}

/**
 * Reads an address as libpq does where the driver does not: the folder of a unix socket stands in
 * `?host=` or, percent-encoded, in the place of the host. Throws for what is no address, without
 * repeating it: it may carry a password.
 */
export const addressOf = (server: Server): DriverAddress => {
  if (!Redacted.isRedacted(server)) {
    const { password, ...options } = server
    return { options: password === undefined ? options : { ...options, password: Redacted.value(password) } }
  }
  const text = Redacted.value(server).replace(emptyHost, "$1localhost")
  if (!URL.canParse(text)) throw new TypeError("The address of the database is not a valid postgres:// address.")
  const url = new URL(text)
  const folder = url.searchParams.get("host") ?? decodeURIComponent(url.hostname)
  if (!folder.startsWith("/")) return { url: text, options: {} }
  url.searchParams.delete("host")
  url.hostname = "localhost"
  return { url: url.href, options: { host: folder } }
}

const emptyHost = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?=[/?#]|$)/i
