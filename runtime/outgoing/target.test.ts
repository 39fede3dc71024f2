import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { makeOutgoing } from "#runtime/outgoing/outgoing.ts"
import type { OutgoingRefused } from "#runtime/outgoing/refused.ts"
import { targetOf } from "#runtime/outgoing/target.ts"

/** Each of them refused before anything is connected to. Names resolve to what a hostile server of names would answer. */
const hostile: ReadonlyArray<readonly [string, OutgoingRefused["reason"]]> = [
  // this machine, in the spellings that the standard of URLs knows
  ["https://127.0.0.1/", "address"],
  ["https://127.1/", "address"],
  ["https://127.0.1/", "address"],
  ["https://2130706433/", "address"],
  ["https://0x7f000001/", "address"],
  ["https://0x7f.0x0.0x0.0x1/", "address"],
  ["https://0X7F.1/", "address"],
  ["https://017700000001/", "address"],
  ["https://0177.0.0.1/", "address"],
  ["https://0177.0.0.01/", "address"],
  ["https://127.0.0.1./", "address"],
  ["https://127.000.000.001/", "address"],
  ["https://127.255.255.254/", "address"],
  ["https://%31%32%37.0.0.1/", "address"],
  ["https://127%2e0%2e0%2e1/", "address"],
  ["https://①②⑦.⓪.⓪.①/", "address"],
  ["https://127。0。0。1/", "address"],
  ["https://１２７．０．０．１/", "address"],
  ["https:\\\\127.0.0.1\\", "address"],
  ["https:127.0.0.1", "address"],
  ["\thttps://127.0\n.0.1/", "address"],
  ["https://0/", "address"],
  ["https://0.0.0.0/", "address"],
  ["https://0x0/", "address"],
  ["https://[::1]/", "address"],
  ["https://[0:0:0:0:0:0:0:1]/", "address"],
  ["https://[0000:0000:0000:0000:0000:0000:0000:0001]/", "address"],
  ["https://[::]/", "address"],
  ["https://[::127.0.0.1]/", "address"],
  ["https://[::ffff:127.0.0.1]/", "address"],
  ["https://[::ffff:7f00:1]/", "address"],
  ["https://[::ffff:0:127.0.0.1]/", "address"],
  ["https://[64:ff9b::127.0.0.1]/", "address"],
  ["https://[64:ff9b:1::7f00:1]/", "address"],
  ["https://[2002:7f00:1::]/", "address"],
  ["https://[2001:0:7f00:1::]/", "address"],
  ["https://[fe80::1]/", "address"],
  ["https://[fec0::1]/", "address"],
  ["https://[fc00::1]/", "address"],
  ["https://[fd00:ec2::254]/", "address"],
  ["https://[ff02::1]/", "address"],
  ["https://[2001:db8::1]/", "address"],
  // metadata and networks around
  ["https://169.254.169.254/latest/meta-data/", "address"],
  ["https://2852039166/", "address"],
  ["https://0xa9fea9fe/", "address"],
  ["https://[::ffff:169.254.169.254]/", "address"],
  ["https://100.100.100.200/", "address"],
  ["https://192.0.0.192/", "address"],
  ["https://168.63.129.16/", "address"],
  ["https://10.0.0.1/", "address"],
  ["https://172.16.0.1/", "address"],
  ["https://192.168.1.1/", "address"],
  ["https://255.255.255.255/", "address"],
  ["https://224.0.0.1/", "address"],
  // names that are, or resolve to, such addresses
  ["https://localhost/", "host"],
  ["https://LOCALHOST/", "host"],
  ["https://localhost./", "host"],
  ["https://ⓛocalhost/", "host"],
  ["https://foo.localhost/", "host"],
  ["https://kubernetes/", "host"],
  ["https://printer.local/", "host"],
  ["https://metadata.google.internal/", "host"],
  ["https://1.0.0.127.in-addr.arpa/", "host"],
  ["https://example.com./", "host"],
  ["https://ex%2eample..com/", "host"],
  ["https://private.example.com/", "address"],
  ["https://several.example.com/", "address"],
  ["https://mapped.example.com/", "address"],
  ["https://nat64.example.com/", "address"],
  ["https://nonsense.example.com/", "address"],
  // everything else that a URL can hide
  ["https://user@example.com/", "userinfo"],
  ["https://user:hunter2@example.com/", "userinfo"],
  ["https://example.com@127.0.0.1/", "userinfo"],
  ["https://:hunter2@example.com/", "userinfo"],
  ["http://example.com/", "scheme"],
  ["file:///etc/passwd", "scheme"],
  ["ftp://example.com/", "scheme"],
  ["gopher://example.com/", "scheme"],
  ["data:text/html,hello", "scheme"],
  ["javascript:alert(1)", "scheme"],
  ["unix:/var/run/docker.sock", "scheme"],
  ["blob:https://example.com/1", "scheme"],
  ["https://example.com:22/", "port"],
  ["https://example.com:8443/", "port"],
  ["https://example.com:80/", "port"],
  ["https://[fe80::1%25eth0]/", "url"],
  ["https://example.com:99999/", "url"],
  ["https://127.0.0.256/", "url"],
  ["https://exa mple.com/", "url"],
  ["//example.com/", "url"],
  ["example.com", "url"],
  ["", "url"],
]

const names: Readonly<Record<string, ReadonlyArray<string>>> = {
  "private.example.com": ["10.1.2.3"],
  "several.example.com": ["192.168.0.1", "fd00::1", "127.0.0.1"],
  "mapped.example.com": ["::ffff:127.0.0.1"],
  "nat64.example.com": ["64:ff9b::a00:1"],
  "nonsense.example.com": ["2130706433", "localhost"],
}

describe("a hostile URL", () => {
  const { fetch } = makeOutgoing({
    resolver: async (host) => names[host] ?? expect.fail(`${host} was resolved`),
  })

  it.effect.each(hostile)("%j is refused for its %s", ([url, reason]) =>
    Effect.gen(function* () {
      const refusal = yield* Effect.flip(fetch({ url }))
      expect(refusal).toMatchObject({ _tag: "OutgoingRefused", reason })
      expect(refusal.message).not.toMatch(/hunter2|10\.1\.2\.3|meta-data/)
    }),
  )
})

describe("the rules of a target", () => {
  const reasonOf = (url: string, rules = {}) =>
    Result.match(targetOf(url, rules), { onFailure: ({ reason }) => reason, onSuccess: ({ url: { href } }) => href })

  it("are https on its own port where nothing else is said", () => {
    expect(reasonOf("https://EXAMPLE.com:443/a?b#c")).toBe("https://example.com/a?b")
    expect(reasonOf("https://bücher.example/")).toBe("https://xn--bcher-kva.example/")
    expect(reasonOf("https://[2606:4700::1111]/")).toBe("https://[2606:4700::1111]/")
  })

  it("bound its length", () => {
    expect(reasonOf(`https://example.com/${"a".repeat(2_048)}`)).toBe("url")
  })

  it("allow http, and other ports, only where they are named", () => {
    const rules = { schemes: ["http:", "https:"], ports: [8_080] }
    expect(reasonOf("http://example.com:8080/", rules)).toBe("http://example.com:8080/")
    expect(reasonOf("http://example.com:8081/", rules)).toBe("port")
  })

  it("compare origins by scheme, whole name and port", () => {
    const origins = ["https://api.example.com", "https://api.example.com:8443"]
    const rules = { origins, schemes: ["http:", "https:"] }
    expect(reasonOf("https://api.example.com/a", rules)).toBe("https://api.example.com/a")
    expect(reasonOf("https://api.example.com:8443/", rules)).toBe("https://api.example.com:8443/")
    for (const url of [
      "http://api.example.com/",
      "https://api.example.com:8444/",
      "https://api.example.com.evil.com/",
      "https://evil-api.example.com/",
      "https://example.com/",
      "https://xapi.example.com/",
    ]) {
      expect(reasonOf(url, rules)).toBe("origin")
    }
    expect(reasonOf("https://example.com/", { origins: [] })).toBe("origin")
  })
})
