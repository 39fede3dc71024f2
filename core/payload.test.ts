import { describe, expect, it } from "vitest"
import { boundedText, maxPayloadBytes } from "#core/payload.ts"
import { redact, registerSecret } from "#core/redaction.ts"

describe("a payload", () => {
  it("is stored as it is when it is small and holds no secret", () => {
    expect(boundedText({ delta: "héllo", n: 1, list: [null, true] })).toBe('{"delta":"héllo","n":1,"list":[null,true]}')
  })

  it("has its longest strings cut when it is too large, and stays JSON", () => {
    const text = boundedText({ callId: "c1", content: "x".repeat(2_000_000), list: ["é".repeat(400_000)] })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxPayloadBytes)
    const parsed = JSON.parse(text)
    expect(parsed.callId).toBe("c1")
    expect(parsed.content).toMatch(/^x+… \[\d+ characters cut\]$/)
  })

  it("is replaced by a note of its size when cutting strings is not enough", () => {
    const text = boundedText({ numbers: Array.from({ length: 200_000 }, (_, i) => i) })
    expect(JSON.parse(text)).toMatchObject({ payload_truncated: true })
  })

  it("holds nothing that the database cannot read again", () => {
    const payload = { a: "x\0y\ud800z", "k\0": ["\udfff"], fine: "\\u0000 \\\\ud800 😀" }
    expect(JSON.parse(boundedText(payload))).toEqual({
      a: "x\ufffdy\ufffdz",
      "k\ufffd": ["\ufffd"],
      fine: payload.fine,
    })
    expect(boundedText({ content: "😀".repeat(200_000) })).not.toContain("\\ud83d")
  })

  const secrets = [
    ["Authorization: Bearer abcdef0123456789", "abcdef0123456789"],
    ["aws AKIAIOSFODNN7EXAMPLE ok", "AKIAIOSFODNN7EXAMPLE"],
    ["token ghp_abcdefghijklmnopqrstuvwxyz012345 end", "ghp_abcdefghijklmnopqrstuvwxyz012345"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"],
    ['{"api_key": "qwertyuiop"}', "qwertyuiop"],
    ["password=hunter2hunter2", "hunter2hunter2"],
    ["https://user:s3cr3tvalue@host/path", "s3cr3tvalue"],
    ["https://host/blob?sv=1&sig=Zm9vYmFyYmF6", "Zm9vYmFyYmF6"],
    ["sk-abcdefghijklmnopqrstuvwx", "sk-abcdefghijklmnopqrstuvwx"],
    [`svc_${"a".repeat(43)}`, `svc_${"a".repeat(43)}`],
  ] as const

  it.each(secrets)("never holds a secret by its form: %s", (text, secret) => {
    const stored = boundedText({ nested: [{ output: text }] })
    expect(stored).not.toContain(secret)
    expect(stored).toContain("[redacted]")
  })

  it("never holds a value that was registered, plain or as part of a URL", () => {
    registerSecret("p@ss word/11")
    expect(redact("x p@ss word/11 y p%40ss%20word%2F11 z")).toBe("x [redacted] y [redacted] z")
  })

  it("leaves ordinary text alone", () => {
    for (const text of [
      "the key idea",
      "token bucket",
      "sign up",
      "design: a signal",
      "basic tests",
      "http://localhost:3000/x",
    ]) {
      expect(redact(text)).toBe(text)
    }
  })
})
