/** New API keys. */
import { randomBytes } from "node:crypto"

/** 256 bits: nobody finds such a key by trying. */
const keyBytes = 32

/** `svc_` and 43 characters of base64url. The prefix lets scanners find a key that leaked. */
export const newApiKey = (): string => `svc_${randomBytes(keyBytes).toString("base64url")}`

export const apiKeyForm = /^svc_[A-Za-z0-9_-]{43}$/
