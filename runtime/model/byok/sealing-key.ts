/**
 * The keys that seal: those of the settings, or one in the data folder, made when it is first needed and readable
 * by its owner only. The file is for one replica; several share a key by the settings.
 */
import { randomBytes } from "node:crypto"
import { constants } from "node:fs"
import { link, mkdir, open, rm } from "node:fs/promises"
import { join } from "node:path"
import { Data, Effect, Redacted } from "effect"
import type { SettingsValues } from "#core/settings.ts"
import { makeSealing, type Sealing } from "#runtime/model/byok/sealing.ts"

export class SealingKeyUnusable extends Data.TaggedError("SealingKeyUnusable")<{ readonly message: string }> {}

export const sealingKeyPath = (directory: string): string => join(directory, "sealing-key")

export const sealingOf = ({
  Data: { Directory },
  Providers,
}: SettingsValues): Effect.Effect<Sealing, SealingKeyUnusable> => {
  const old = Providers.OldSealingKeys.map(bytesOf)
  if (Providers.SealingKey !== undefined) return Effect.succeed(makeSealing(bytesOf(Providers.SealingKey), old))
  const path = sealingKeyPath(Directory)
  return Effect.tryPromise({
    try: async () => {
      await mkdir(Directory, { recursive: true, mode: 0o700 })
      await createIfAbsent(path)
      return makeSealing(await readKey(path), old)
    },
    catch: (cause) =>
      new SealingKeyUnusable({
        message: `The sealing key ${path} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
      }),
  })
}

const bytesOf = (key: Redacted.Redacted<string>): Buffer => Buffer.from(Redacted.value(key), "base64")

/** A complete file appears or none, also when two processes begin at once. */
const createIfAbsent = async (path: string): Promise<void> => {
  const beside = `${path}.${process.pid}.${randomBytes(4).toString("hex")}`
  const file = await open(beside, "wx", 0o600)
  try {
    await file.writeFile(`${randomBytes(32).toString("base64")}\n`)
    await file.sync()
    await link(beside, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error
    })
  } finally {
    await file.close()
    await rm(beside, { force: true })
  }
}

const readKey = async (path: string): Promise<Buffer> => {
  // no symbolic link: it could make us use a file of somebody else
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    const { mode, uid } = await file.stat()
    const self = process.getuid?.()
    if (self !== undefined && (mode & 0o077) !== 0) throw new Error("others can read it")
    if (self !== undefined && uid !== self && uid !== 0) throw new Error("it belongs to another user")
    const key = Buffer.from((await file.readFile("utf8")).trim(), "base64")
    if (key.length !== 32) throw new Error("it does not hold 32 bytes in base64")
    return key
  } finally {
    await file.close()
  }
}
