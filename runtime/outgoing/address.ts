/**
 * Which addresses are public. Of IPv4, what no registry keeps for a special use; of IPv6, global unicast (2000::/3) without what is kept
 * for one, so that every form with another address inside (mapped, compatible, NAT64, 6to4, Teredo) is out.
 * The ranges are those of the IANA registries of special-purpose addresses (RFC 6890 and what updates it). Pure.
 */
import ipaddr from "ipaddr.js"

/** Not public, by the registry's names. */
const special4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by a carrier's customers
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // not in the registry: what the machines of one large provider call their host by
  "169.254.0.0/16", // link-local, and with it most metadata services
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // AMT
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and the broadcast address
].map((range) => ipaddr.IPv4.parseCIDR(range))

const global6 = ipaddr.IPv6.parseCIDR("2000::/3")
const special6 = [
  "2001::/23", // protocol assignments: Teredo, benchmarks, ORCHID
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3fff::/20", // documentation
].map((range) => ipaddr.IPv6.parseCIDR(range))

/** An address as it is written usually, and nothing else: no octal, no hexadecimal, no missing part, no zone. */
const parse = (text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined => {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  return text.includes(":") && !text.includes("%") && ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined
}

/** One spelling for each address; undefined for what is none. */
export const normalAddress = (text: string): string | undefined => parse(text)?.toNormalizedString()

export const isAddress = (text: string): boolean => parse(text) !== undefined

/** Where it cannot be read, it is not public. */
export const isPublic = (text: string): boolean => {
  const address = parse(text)
  if (address === undefined) return false
  if (address instanceof ipaddr.IPv4) return !special4.some((range) => address.match(range))
  return address.match(global6) && !special6.some((range) => address.match(range))
}
