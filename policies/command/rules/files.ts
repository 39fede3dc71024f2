/** Files, disks and rights. */
import { always, type Rule, ruleFor } from "#policies/command/rules/rule.ts"
import {
  both,
  type Call,
  either,
  given,
  isOneThing,
  operands,
  type Presence,
  when,
} from "#policies/command/shell/call.ts"

const recursive = ({ args }: Call): Presence => given(args, { short: "rR", long: ["recursive"] })
const forced = ({ args }: Call): Presence => given(args, { short: "f", long: ["force"] })
/** `rm "$file"` deletes one file, whatever it is. */
const certainOf =
  (of: (call: Call) => Presence) =>
  (call: Call): Presence => {
    const presence = of(call)
    return presence === "unknown" && isOneThing(call.args) ? "no" : presence
  }

const rm = ["rm", "grm"]

const zeroSize = ({ args }: Call): Presence => {
  const sizes = args.flatMap((word, index) => {
    if (/^(?:-[a-zA-Z]*s|--s(?:i(?:z(?:e)?)?)?)$/.test(word)) return [args[index + 1] ?? ""]
    return /^(?:-[a-zA-Z]*s|--s(?:i(?:z(?:e)?)?)?=)(.+)$/.exec(word)?.slice(1, 2) ?? []
  })
  return when(sizes.some((size) => /^[<%]?0+[a-zA-Z]*$/.test(size)))
}

/** Only shows something. */
const onlyShows = (args: ReadonlyArray<string>): boolean =>
  args.length > 0 && args.every((word) => /^(?:-l|--list|--help|-h|--version|-V|-v|print)$/.test(word))

const blockDevice = /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|md|dm-|mapper|loop|ram|mem|kmem|port|fd\d*$|sr\d)/

const worldWritable = (word: string): boolean =>
  /^0*[0-7]?777$/.test(word) ||
  /(?:^|,)(?:[ugo]*a[ugo]*|ugo)?[+=](?=[rwx]*r)(?=[rwx]*w)(?=[rwx]*x)[rwx]+(?:,|$)/.test(word)

const ownerIsRoot = (word: string): boolean => /^(?:root|\+?0)(?:[:.].*)?$/i.test(word)

export const fileRules: ReadonlyArray<Rule> = [
  ruleFor(
    rm,
    "rm -rf",
    "deletes folders with all that is in them, without asking",
    certainOf((call) => both(recursive(call), forced(call))),
  ),
  ruleFor(rm, "rm -r", "deletes folders with all that is in them", certainOf(recursive)),
  ruleFor(rm, "rm -f", "deletes without asking", certainOf(forced)),
  ruleFor([...rm, "unlink"], "xargs rm", "deletes whatever another command finds", (call) => when(call.forEach)),
  ruleFor(["shred", "srm", "wipe", "bleachbit", "rimraf"], "shred", "destroys files beyond recovery", always),
  ruleFor(["find", "gfind"], "find -delete", "deletes everything that is found", ({ args }) =>
    when(args.includes("-delete")),
  ),
  ruleFor(["truncate", "gtruncate"], "truncate --size 0", "empties files", zeroSize),
  ruleFor(["dd", "gdd"], "dd if=", "copies raw blocks", ({ args }) =>
    when(args.some((word) => /^(?:if|of)=/.test(word))),
  ),
  {
    pattern: "mkfs",
    reason: "makes a new file system on a disk",
    matches: ({ program = "" }) => when(/^(?:mkfs(?:\..+)?|mke2fs|mkswap|mkdosfs|mkntfs|newfs(?:_.+)?)$/.test(program)),
  },
  ruleFor(["fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk"], "fdisk", "changes the partitions of a disk", ({ args }) =>
    when(!onlyShows(args)),
  ),
  ruleFor(["parted", "gparted", "partprobe"], "parted", "changes the partitions of a disk", ({ args }) =>
    when(!onlyShows(args)),
  ),
  ruleFor(["wipefs", "blkdiscard", "hdparm", "nvme"], "wipefs", "erases a disk", always),
  {
    pattern: "> /dev/sda",
    reason: "writes over a disk",
    matches: ({ program = "", args, redirections }) =>
      either(
        when(redirections.some(({ operator, target }) => operator !== "<" && blockDevice.test(target))),
        when(
          /^(?:tee|cp|mv|cat|install|ddrescue|pv)$/.test(program) &&
            operands(args)
              .slice(-1)
              .some((word) => blockDevice.test(word)) &&
            program !== "cat" &&
            program !== "pv",
        ),
      ),
  },
  ruleFor(["chmod", "gchmod"], "chmod -R 777", "lets everybody change whole folders", ({ args }) =>
    both(given(args, { short: "R", long: ["recursive"] }), when(args.some(worldWritable))),
  ),
  ruleFor(["chown", "gchown"], "chown -R root", "gives whole folders to root", ({ args }) =>
    both(given(args, { short: "R", long: ["recursive"] }), when(operands(args).slice(0, 1).some(ownerIsRoot))),
  ),
]
