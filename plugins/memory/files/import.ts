/**
 * Files of a repository as memory of its project. Whoever may push writes them: nothing that comes in is believed
 * before a person has vouched for it. What is there already stays as it is; what cannot be read is left out and told.
 */
import { Effect, Result } from "effect"
import type { Refusal } from "#core/refusal.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import type { Author } from "#plugins/memory/author.ts"
import { FileRefused, maxFile, type Place, textOfPlace } from "#plugins/memory/files/contained.ts"
import { readDecisions } from "#plugins/memory/files/decision-files.ts"
import { inFolder } from "#plugins/memory/files/folder.ts"
import { readInboxFile, readNowFile } from "#plugins/memory/files/front-matter-files.ts"
import { importDecision, importEntries, importNow, importProposal } from "#plugins/memory/files/import-rows.ts"
import { readHistory, readPatterns } from "#plugins/memory/files/memory-files.ts"
import { places } from "#plugins/memory/files/places.ts"
import type { Memory } from "#plugins/memory/memory.ts"

export interface Skipped {
  readonly file: string
  readonly reason: string
}

export interface Imported {
  /** New entries of the inbox. */
  readonly imported: number
  readonly decisions: number
  readonly memories: number
  readonly sessions: number
  /** The first of them. */
  readonly skipped: ReadonlyArray<Skipped>
}

const maxFiles = 2_000
const maxTold = 200
/** Bytes of a file that holds one entry: all that the texts of one may have, and their escapes. */
const maxEntryFile = 262_144
/** Characters of all files together: they are in memory at the same time. */
const maxTogether = 67_108_864

interface Found {
  readonly file: string
  readonly text: string
}

/** Every file that there is, and why others cannot be read. */
const gather = (workingDirectory: string) =>
  inFolder(workingDirectory, async (folder) => {
    const skipped: Array<Skipped> = []
    const skip = (place: Place, reason: string) => void skipped.push({ file: textOfPlace(place), reason })
    let left = maxTogether
    const read = async (place: Place, maximum: number): Promise<ReadonlyArray<Found>> => {
      try {
        const text = await folder.read(place, Math.min(maximum, left))
        left -= text?.length ?? 0
        return text === undefined ? [] : [{ file: textOfPlace(place), text }]
      } catch (error) {
        // what the system says may hold paths of this machine
        skip(place, error instanceof FileRefused ? error.message : "It cannot be read.")
        return []
      }
    }
    const all = async (list: ReadonlyArray<Place>, maximum: number) => {
      const found: Array<Found> = []
      for (const place of list.slice(0, maxFiles)) found.push(...(await read(place, maximum)))
      for (const place of list.slice(maxFiles)) skip(place, `Only the first ${maxFiles} files are read.`)
      return found
    }
    const names = await folder.list(places.inboxFolder)
    const agents = await folder.folders(places.agentsFolder)
    const proposals = names.filter((name) => name.endsWith(".md"))
    return {
      inbox: await all(proposals.map(places.inbox), maxEntryFile),
      histories: await all(agents.map(places.history), maxFile),
      decisions: await read(places.decisions, maxFile),
      patterns: await read(places.patterns, maxFile),
      now: await read(places.now, maxEntryFile),
      skipped,
    }
  })

export const importMemory = (memory: Memory) =>
  Effect.fn("memory.import")(function* (projectId: string, workingDirectory: string, by: Author) {
    const author: Author = { ...by, sourceKind: "import" }
    const found = yield* gather(workingDirectory)
    const skipped = [...found.skipped]

    /** How many of them are new. */
    const each = Effect.fnUntraced(function* <A>(
      files: ReadonlyArray<Found>,
      read: (text: string) => ReadonlyArray<A | undefined>,
      store: (one: A) => Effect.Effect<boolean, Refusal | DatabaseUnavailable>,
    ) {
      let added = 0
      for (const { file, text } of files) {
        for (const [index, one] of read(text).entries()) {
          const skip = (reason: string) => skipped.push({ file, reason: `Entry ${index + 1}: ${reason}` })
          if (one === undefined) {
            skip("It is not of the form that is exported.")
            continue
          }
          const stored = yield* Effect.result(store(one))
          if (Result.isSuccess(stored)) added += stored.success ? 1 : 0
          else if (stored.failure._tag === "Refusal") skip(stored.failure.message)
          else return yield* stored.failure
        }
      }
      return added
    })

    const decisions = yield* each(found.decisions, readDecisions, importDecision(memory, projectId, author))
    const imported = yield* each(
      found.inbox,
      (text) => [readInboxFile(text)],
      importProposal(memory, projectId, author),
    )
    const entries = importEntries(memory, projectId, author)
    yield* each(found.histories, readHistory, entries.take)
    yield* each(found.patterns, readPatterns, entries.take)
    const memories = yield* entries.keep
    const sessions = yield* each(found.now, (text) => [readNowFile(text)], importNow(memory, projectId))
    const result: Imported = {
      imported,
      decisions,
      memories,
      sessions,
      skipped: skipped.slice(0, maxTold),
    }
    return result
  })
