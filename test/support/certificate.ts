/** A certificate that signs itself, for servers of tests: X.509 as far as Node wants it, written by hand so that no program is needed. */
import { generateKeyPairSync, sign } from "node:crypto"

export interface Certificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

const tlv = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(parts)
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const sequence = (...parts: ReadonlyArray<Uint8Array>) => tlv(0x30, ...parts)
const bytes = (...values: ReadonlyArray<number>) => Buffer.from(values)
const time = (text: string) => tlv(0x18, Buffer.from(text))

const ecdsaWithSha256 = sequence(tlv(0x06, Buffer.from("2a8648ce3d040302", "hex")))
const commonName = (name: string) =>
  sequence(tlv(0x31, sequence(tlv(0x06, bytes(0x55, 4, 3)), tlv(0x0c, Buffer.from(name)))))
const extension = (id: number, value: Uint8Array) => sequence(tlv(0x06, bytes(0x55, 0x1d, id)), tlv(0x04, value))

/** For these names of hosts. */
export const certificateFor = (...hosts: readonly [string, ...Array<string>]): Certificate => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const name = commonName(hosts[0])
  const toBeSigned = sequence(
    tlv(0xa0, tlv(0x02, bytes(2))),
    tlv(0x02, bytes(1)),
    ecdsaWithSha256,
    name,
    sequence(time("20200101000000Z"), time("20991231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(extension(17, sequence(...hosts.map((host) => tlv(0x82, Buffer.from(host))))))),
  )
  const signature = tlv(0x03, bytes(0), sign("sha256", toBeSigned, privateKey))
  const encoded = sequence(toBeSigned, ecdsaWithSha256, signature).toString("base64")
  const lines = encoded.match(/.{1,64}/g) ?? []
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  }
}
