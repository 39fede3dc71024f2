/** For tests: a program that git must never start, and git directories that name it everywhere. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Every setting by which git starts something. */
const settingsOf = (evil: string, folder: string): ReadonlyArray<readonly [string, string]> => [
  ["core.fsmonitor", evil],
  ["core.hooksPath", join(folder, "hooks")],
  ["core.sshCommand", evil],
  ["core.editor", evil],
  ["core.pager", evil],
  ["core.gitProxy", evil],
  ["core.askPass", evil],
  ["core.alternateRefsCommand", evil],
  ["sequence.editor", evil],
  ["diff.external", evil],
  ["diff.evil.textconv", evil],
  ["diff.evil.command", evil],
  ["filter.evil.clean", evil],
  ["filter.evil.smudge", evil],
  ["filter.evil.process", evil],
  ["filter.evil.required", "true"],
  ["merge.evil.driver", `${evil} %A`],
  ["gpg.program", evil],
  ["commit.gpgSign", "true"],
  ["log.showSignature", "true"],
  ["credential.helper", `!${evil}`],
  ["interactive.diffFilter", evil],
  ["uploadpack.packObjectsHook", evil],
  ["trailer.x.command", evil],
  ["alias.diff-tree", `!${evil}`],
  ["alias.ls-files", `!${evil}`],
  ["submodule.recurse", "true"],
  ["protocol.ext.allow", "always"],
  ["remote.origin.url", `ext::${evil}`],
  ["remote.origin.promisor", "true"],
  ["extensions.partialClone", "origin"],
]
const hooks = [
  "applypatch-msg",
  "commit-msg",
  "fsmonitor-watchman",
  "post-checkout",
  "post-commit",
  "post-index-change",
  "post-merge",
  "post-receive",
  "post-rewrite",
  "post-update",
  "pre-auto-gc",
  "pre-commit",
  "pre-merge-commit",
  "pre-push",
  "pre-receive",
  "prepare-commit-msg",
  "proc-receive",
  "push-to-checkout",
  "reference-transaction",
  "sendemail-validate",
  "update",
]

export interface Trap {
  /** Leaves the mark when it is started, and passes on what it reads. */
  readonly evil: string
  /** Was it ever started? */
  readonly isSprung: () => boolean
  /** Makes a git directory start it wherever it can. */
  readonly arm: (gitDir: string) => void
}

export const setTrap = (folder: string): Trap => {
  const evil = join(folder, "evil")
  const mark = join(folder, "ran")
  writeFileSync(evil, `#!/bin/sh\necho "$0 $*" >> ${mark}\ncat\n`)
  chmodSync(evil, 0o755)
  return { evil, isSprung: () => existsSync(mark), arm: (gitDir) => arm(gitDir, evil, folder) }
}

const arm = (gitDir: string, evil: string, folder: string): void => {
  const text = settingsOf(evil, folder).map(([name, value]) => {
    const parts = name.split(".")
    const section = parts.length === 3 ? `[${parts[0]} "${parts[1]}"]` : `[${parts[0]}]`
    return `${section}\n\t${parts.at(-1)} = ${JSON.stringify(value)}\n`
  })
  writeFileSync(join(gitDir, "included"), text.join(""))
  writeFileSync(
    join(gitDir, "config"),
    `${readFileSync(join(gitDir, "config"), "utf8")}\n[include]\n\tpath = included\n`,
  )
  for (const place of [join(gitDir, "hooks"), join(folder, "hooks")]) {
    mkdirSync(place, { recursive: true })
    for (const hook of hooks) copyFileSync(evil, join(place, hook))
  }
}
