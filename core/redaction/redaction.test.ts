import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { redact, redactingStream, redactText, registerSecret } from "#core/redaction.ts"

const all = (text: string) => redactText(text, { personal: true })

const letters = (length: number) => "aB3dE5gH7jK9mN2pQ4sT6vW8xY1zC0fR".repeat(8).slice(0, length)
const key = `-----BEGIN RSA PRIVATE KEY-----\n${letters(64)}\n${letters(64)}\n${letters(22)}==\n-----END RSA PRIVATE KEY-----`

/** Text with a secret in it, and the secret. */
const planted: ReadonlyArray<readonly [text: string, secret: string]> = [
  [`Authorization: Bearer ${letters(40)}`, letters(40)],
  [`authorization: basic ${letters(24)}==`, letters(24)],
  ["AWS AKIAABCDEFGHIJKLMNOP here", "AKIAABCDEFGHIJKLMNOP"],
  [`ghp_${letters(36)}`, letters(36)],
  [`x github_pat_${letters(40)} y`, letters(40)],
  [`glpat-${letters(20)}`, letters(20)],
  [`npm_${letters(36)}`, letters(36)],
  [`sk-${letters(48)}`, letters(48)],
  ["password=hunter2hunter2", "hunter2hunter2"],
  ["DB_PASSWORD=hunter2hunter2", "hunter2hunter2"],
  ['"password": "correct horse battery"', "correct horse battery"],
  ["pwd = hunter2hunter2;", "hunter2hunter2"],
  [`https://h/x?sv=1&sig=${letters(30)}%3D&se=2`, letters(30)],
  [`API_KEY: '${letters(20)}'`, letters(20)],
  [`secret_key = ${letters(20)}`, letters(20)],
  [`{"access_token":"${letters(20)}"}`, letters(20)],
  ["postgres://ada:hunter2hunter2@db/x", "hunter2hunter2"],
  [`eyJ${letters(20)}.${letters(30)}.${letters(30)}`, letters(30)],
  [key, letters(22)],
  [key.replaceAll("\n", "\\n"), letters(64)],
  [key.replaceAll(/^/gm, "+  "), letters(64)],
]

const personal: ReadonlyArray<readonly [text: string, secret: string]> = [
  ["Mail ada@example.com.", "ada@example.com"],
  ["<ada.love+x@mail.example.co.uk>", "ada.love+x@mail.example.co.uk"],
  ["from 203.0.113.7:443", "203.0.113.7"],
  ["host=192.168.1.20", "192.168.1.20"],
  ["root@198.51.100.4 said.", "198.51.100.4"],
  ["[2001:db8::8a2e:370:7334]:80", "2001:db8::8a2e:370:7334"],
  ["via fe80::1%eth0", "fe80::1"],
  ["::ffff:203.0.113.9", "203.0.113.9"],
  ["at 2001:db8:0:0:0:0:2:1.", "2001:db8:0:0:0:0:2:1"],
]

describe("a secret", () => {
  it.each(planted)("is taken out of: %s", (text, secret) => {
    expect(redact(text)).not.toContain(secret)
    expect(redact(text)).toContain("[redacted]")
  })

  it("that is registered is found in every usual encoding", () => {
    const secret = "f00dcafe-registered/value+1"
    registerSecret(secret)
    const bytes = Buffer.from(secret)
    for (const form of [secret, encodeURIComponent(secret), bytes.toString("base64"), bytes.toString("hex")]) {
      expect(redact(`x${form}y`)).toMatch(/^x\[redacted\]=*y$/)
    }
  })

  it.each([
    "const password = process.env.PASSWORD",
    "password: string;",
    "password = getPassword()",
    "PWD=/home/ada",
    "export const token = 5",
    "assign(key, value)",
    "design=flat signature",
    "https://example.com:8080/x@y",
    "the bearer of news",
    "-----BEGIN CERTIFICATE-----",
  ])("is not seen in: %s", (text) => {
    expect(redact(text)).toBe(text)
  })
})

describe("personal data", () => {
  it.each(personal)("is taken out of: %s", (text, secret) => {
    expect(all(text)).not.toContain(secret)
    expect(redact(text)).toBe(text)
  })

  it.each([
    "http://127.0.0.1:3000 and 0.0.0.0 and ::1 and [::]:80",
    "npm WARN v1.2.3.4, requests==1.2.3.4, lib-1.2.3.4.tgz, Version: 1.2.3.4",
    "255.255.255.0",
    "1.2.3 and 1.2.3.4.5 and 999.1.1.1",
    "at 12:34:56 on 2026-01-02T03:04:05.678Z",
    "std::vector<int> a::b Foo::bar",
    "00:1a:2b:3c:4d:5e",
    "git@github.com:org/repo.git",
    "icon@2x.png @scope/name pkg@1.2.3 user@host",
    "sha256:0123456789abcdef",
  ])("is not seen in: %s", (text) => {
    expect(all(text)).toBe(text)
  })
})

describe("text that comes in pieces", () => {
  const pieces = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<string> => {
    const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
    return [...places, text.length].map((place, index) => text.slice(places[index - 1] ?? 0, place))
  }
  const streamed = (parts: ReadonlyArray<string>): string => {
    const stream = redactingStream({ personal: true })
    return parts.map(stream.push).join("") + stream.end()
  }
  const canaries = [...planted, ...personal]
  const filler = fc.constantFrom(
    "",
    " ",
    "\n",
    "\r\n",
    "word ",
    "x=1&",
    "{",
    '"',
    "é",
    "-----",
    "a.b@",
    "1.2.",
    "password",
    "::",
  )
  const part = fc.oneof(
    filler,
    filler,
    fc.constantFrom(...canaries).map(([text]) => `\n${text}\n`),
    fc.nat(70_000).map((length) => "lorem ipsum ".repeat(length / 12)),
  )
  const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""))

  it("comes out the same wherever it is cut", () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (whole, cuts) => {
        expect(streamed(pieces(whole, cuts))).toBe(all(whole))
      }),
    )
  })

  it("never shows a secret, whatever stands around it", () => {
    const around = fc.array(filler, { maxLength: 6 }).map((parts) => parts.join(""))
    fc.assert(
      fc.property(
        fc.constantFrom(...canaries),
        around,
        around,
        fc.array(fc.nat(), { maxLength: 8 }),
        (canary, a, b, cuts) => {
          const [whole, secret] = canary
          expect(streamed(pieces(`${a}\n${whole}\n${b}`, cuts))).not.toContain(secret)
        },
      ),
    )
  })

  it("never shows a secret in a line that does not end", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...planted.filter(([text]) => !text.includes("\n"))),
        fc.nat(140_000),
        (canary, before) => {
          const [whole, secret] = canary
          const line = `${"lorem, ".repeat(before / 7)} ${whole} ${"ipsum ".repeat(2_000)}`
          expect(streamed(pieces(line, [70_000, 65_536, 1]))).not.toContain(secret)
        },
      ),
      { numRuns: 40 },
    )
  })

  it("gives up the rest of a line whose secret has no end", () => {
    const shown = streamed([`password=${"x".repeat(200_000)}\nnext`])
    expect(shown).toBe("password=[redacted]\nnext")
  })

  it("shows what follows a private key, and what follows the mere mention of one", () => {
    expect(redact(`${key}\nnext`)).toBe("[redacted]\n[redacted]\nnext")
    expect(redact("-----BEGIN RSA PRIVATE KEY-----\nis how a private key begins.\nnext")).toBe(
      "[redacted]\nis how a private key begins.\nnext",
    )
  })

  it("takes out every one of two keys that stand close together", () => {
    for (const between of [" ", "", "\n", "\n\n", "\\n"]) {
      expect(redact(`${key}${between}${key}`)).not.toMatch(/[A-Za-z0-9+/]{20}/)
    }
  })

  it("is looked at in linear time", { timeout: 60_000 }, () => {
    const hostile = [
      "a-",
      "a",
      "password",
      "=",
      "1.",
      "a:",
      "@",
      "a@",
      "bearer ",
      "-----BEGIN ",
      "://a:",
      '"\\',
      "eyJ.",
    ]
    const started = performance.now()
    for (const bit of hostile) all(bit.repeat(960_000 / bit.length))
    // it takes about half a second; a form that is tried again from every character would take minutes
    expect(performance.now() - started).toBeLessThan(30_000)
  })
})
