import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { isPublic, normalAddress } from "#runtime/outgoing/address.ts"

/** First and last address of each range that is not public, and their neighbours that are. */
const ranges: ReadonlyArray<readonly [string, string, string, string | undefined, string | undefined]> = [
  ["this network", "0.0.0.0", "0.255.255.255", undefined, "1.0.0.0"],
  ["private 10/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["carrier-grade NAT", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["a provider's host", "168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"],
  ["link-local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["private 172.16/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["protocol assignments", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["documentation 1", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["AS112", "192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"],
  ["AMT", "192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"],
  ["6to4 relays", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["private 192.168/16", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["AS112 direct", "192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"],
  ["benchmarks", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["documentation 2", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["documentation 3", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["multicast, reserved, broadcast", "224.0.0.0", "255.255.255.255", "223.255.255.255", undefined],
  ["below global unicast", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", undefined, "2000::"],
  ["IETF assignments", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff::", "2001:200::"],
  ["documentation 4", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7::", "2001:db9::"],
  ["6to4", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff::", "2003::"],
  ["AS112 of IPv6", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:7fff::", "2620:4f:8001::"],
  ["documentation 5", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff::", "3fff:1000::"],
  ["above global unicast", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff::", undefined],
]

describe("an address", () => {
  it.each(ranges)("of %s is not public, from %s to %s, and its neighbours are", (_, first, last, before, after) => {
    expect([first, last].map(isPublic)).toEqual([false, false])
    for (const neighbour of [before, after]) if (neighbour !== undefined) expect(isPublic(neighbour)).toBe(true)
  })

  const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
  it.prop("of IPv4 within one of IPv6 is never public", [Schema.Tuple([Byte, Byte, Byte, Byte])], ([four]) => {
    const dotted = four.join(".")
    const [a, b] = [Buffer.from(four).toString("hex").slice(0, 4), Buffer.from(four).toString("hex").slice(4)]
    const forms = [
      `::${dotted}`,
      `::ffff:${dotted}`,
      `::ffff:0:${dotted}`,
      `64:ff9b::${dotted}`,
      `64:ff9b:1::${dotted}`,
      `2002:${a}:${b}::1`,
      `2001:0:${a}:${b}::`,
      `fe80::5efe:${dotted}`,
    ]
    expect(forms.filter(isPublic)).toEqual([])
  })

  it.each([
    ["127.1"],
    ["0177.0.0.1"],
    ["0x7f.0.0.1"],
    ["2130706433"],
    ["1.2.3.4.5"],
    ["fe80::1%eth0"],
    ["2606:4700::1%eth0"],
    ["[2606:4700::1]"],
    ["example.com"],
    [""],
  ])("that is written as %j is none, and not public", (text) => {
    expect([normalAddress(text), isPublic(text)]).toEqual([undefined, false])
  })

  it("has one spelling", () => {
    expect(normalAddress("2606:4700:0:0:0:0:0:1111")).toBe(normalAddress("2606:4700::1111"))
  })
})
