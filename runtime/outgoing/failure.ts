/** What went wrong on the network, in few words. Whatever a library says beyond them stays out: it may name an address. */
import { failed, type OutgoingFailed } from "#runtime/outgoing/refused.ts"

const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return ""
  if ("code" in error && typeof error.code === "string") return error.code
  return error.cause === undefined ? "" : codeOf(error.cause)
}

/** Of OpenSSL, as Node names them. */
const ofCertificates = /^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH)/

export const failureOf = (error: unknown, host: string): OutgoingFailed => {
  const code = codeOf(error)
  if (ofCertificates.test(code)) return failed("tls", `${host} has no certificate that can be trusted for this name.`)
  if (code.startsWith("Z_") || code.startsWith("ERR__ERROR_") || code.startsWith("ERR_BROTLI")) {
    return failed("encoding", `The answer of ${host} is not compressed as it says.`)
  }
  if (
    code.startsWith("HPE_") ||
    code === "UND_ERR_HEADERS_OVERFLOW" ||
    code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"
  ) {
    return failed("protocol", `${host} does not answer in proper HTTP.`)
  }
  return failed("unreachable", `${host} cannot be reached, or ended the connection.`)
}
