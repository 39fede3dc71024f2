/**
 * Finds e-mail and IP addresses in one line of text. Addresses of this machine itself (127.0.0.1, ::1, 0.0.0.0) say
 * nothing of anybody and stay; so do numbers of versions, and `git@` of the address of a repository.
 */
import { isIPv4, isIPv6 } from "node:net"
import type { Span } from "#core/redaction/span.ts"

export const personalIn = (line: string): ReadonlyArray<Span> => [
  ...mailAddresses(line),
  ...addresses(line, numberRuns, isPersonalV4),
  ...addresses(line, hexRuns, isPersonalV6),
]

/** Characters on both sides of the `@`. */
const maxLocal = 64
const maxDomain = 255

const local = /[\p{L}\p{N}._%+'-]/u
const domain = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62})\.){1,8}\p{L}{2,63}/u

/** From each `@` outwards: a long text without one costs nothing. */
const mailAddresses = (line: string): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  for (let at = line.indexOf("@"); at >= 0; at = line.indexOf("@", at + 1)) {
    let start = at
    while (start > 0 && at - start < maxLocal && local.test(line[start - 1] ?? "")) start--
    const [host] = domain.exec(line.slice(at + 1, at + 1 + maxDomain)) ?? []
    if (start === at || host === undefined) continue
    // the second name of a picture: `icon@2x.png`
    if (line.slice(start, at) === "git" || /^\dx\./.test(host)) continue
    spans.push({ start, end: at + 1 + host.length })
  }
  return spans
}

const numberRuns = /[0-9.]{7,}/g
const hexRuns = /[0-9A-Fa-f:.]{3,}/g

/** Longest spelling of an address. */
const maxAddress = 45

const addresses = (
  line: string,
  runs: RegExp,
  isPersonal: (address: string, before: string) => boolean,
): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  for (const match of line.matchAll(runs)) {
    // the full stop of a sentence, the colon before a port or a text
    const run = match[0].replace(/[.:]$/, (last) => (/::$/.test(match[0]) ? last : ""))
    const lead = /^[.]*/.exec(run)?.[0].length ?? 0
    const address = run.slice(lead)
    const start = match.index + lead
    const end = start + address.length
    if (address.length > maxAddress || isWord(line[start - 1]) || isWord(line[end])) continue
    if (isPersonal(address, line.slice(Math.max(0, start - 12), start))) spans.push({ start, end })
  }
  return spans
}

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character)

const isVersion = (before: string): boolean =>
  /(?:version|ver)[\s:="'v]{0,4}$|[=~<>^!]=$|[~^]$|[A-Za-z]-$/i.test(before)

const isPersonalV4 = (address: string, before: string): boolean =>
  isIPv4(address) && !/^(?:127|0|255)\./.test(address) && !isVersion(before)

const isPersonalV6 = (address: string): boolean =>
  address.includes(":") &&
  /\d/.test(address) &&
  isIPv6(address) &&
  !/^[0:]*1?$/.test(address.replace(/[:.]/g, (s) => s))
