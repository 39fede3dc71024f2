/** What the same is on Windows: the command interpreter and PowerShell. Names are compared in lower case. */
import { always, type Rule, ruleFor } from "#policies/command/rules/rule.ts"
import { type Call, type Presence, when } from "#policies/command/shell/call.ts"

/** Is a parameter of PowerShell given? They may be cut short: `-Rec`. */
const parameter = (args: ReadonlyArray<string>, name: string): boolean =>
  args.some((word) => {
    const [given = ""] = word.toLowerCase().slice(1).split(":")
    return /^[-–—]/.test(word) && given !== "" && name.startsWith(given)
  })

const removers = ["remove-item", "ri", "del", "erase", "rd", "rmdir", "rm"]

const removesAll = ({ program, args }: Call): Presence => {
  const cmdlet = parameter(args, "recurse") || parameter(args, "force")
  // `rm -r` of a Unix shell has a rule of its own
  if (program === "rm") return when(args.some((word) => /^-(?:rec|fo|forc)/i.test(word)))
  return when(cmdlet || args.some((word) => /^\/[sqf]\b/i.test(word)))
}

const volume = /^(?:[a-z]:|\/fs:|\/q)/i

export const windowsRules: ReadonlyArray<Rule> = [
  ruleFor(removers, "remove-item -recurse", "deletes folders with all that is in them", removesAll),
  ruleFor(["format"], "format c:", "formats a disk", ({ args }) => when(args.some((word) => volume.test(word)))),
  ruleFor(
    ["diskpart", "format-volume", "clear-disk", "initialize-disk", "remove-partition", "diskutil"],
    "diskpart",
    "changes or erases a disk",
    ({ program, args }) =>
      when(program !== "diskutil" || args.some((word) => /^(?:erase|partition|zero|secureerase|reformat)/i.test(word))),
  ),
  ruleFor(["cipher"], "cipher /w", "destroys what was deleted beyond recovery", ({ args }) =>
    when(args.some((word) => /^\/w/i.test(word))),
  ),
  ruleFor(
    ["stop-process", "spps", "taskkill"],
    "stop-process -force",
    "kills processes without letting them finish",
    ({ args }) => when(parameter(args, "force") || args.some((word) => /^\/f$/i.test(word))),
  ),
  ruleFor(["clear-content", "clc", "clear-recyclebin"], "clear-content", "empties files", always),
  ruleFor(
    ["vssadmin", "wbadmin", "bcdedit"],
    "vssadmin delete",
    "removes backups or changes how the machine starts",
    ({ args }) => when(args.some((word) => /^(?:delete|resize|\/set|\/delete)/i.test(word))),
  ),
  ruleFor(["reg"], "reg delete", "deletes from the registry", ({ args }) =>
    when(args.some((word) => /^delete$/i.test(word))),
  ),
]
