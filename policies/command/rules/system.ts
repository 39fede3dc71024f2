/** Privilege, processes, and the machine itself. */
import { always, type Rule, ruleFor } from "#policies/command/rules/rule.ts"
import { type Call, hasOperand, type Presence, when } from "#policies/command/shell/call.ts"

const killed = /^(?:9|kill|sigkill)$/i

/** `-9`, `-KILL`, `-s KILL`, `-s9`, `--signal=9`. */
const killsAtOnce = ({ args, forEach }: Call): Presence => {
  const found = args.some((word, index) => {
    if (/^(?:-s|-n|--s(?:i(?:g(?:n(?:a(?:l)?)?)?)?)?)$/.test(word)) return killed.test(args[index + 1] ?? "")
    const signal = /^(?:-s|-n|--s(?:i(?:g(?:n(?:a(?:l)?)?)?)?)?=|-)(.+)$/.exec(word)?.[1]
    return signal !== undefined && killed.test(signal)
  })
  if (found) return "yes"
  return forEach ? "unknown" : when(false)
}

const stops = new Set(["stop", "disable", "mask", "kill", "poweroff", "reboot", "halt", "kexec", "emergency", "rescue"])

export const systemRules: ReadonlyArray<Rule> = [
  {
    pattern: "sudo rm",
    reason: "deletes with the rights of the administrator",
    matches: ({ program, privileged }) =>
      when(privileged && (program === "rm" || program === "dd" || program === "unlink")),
  },
  ruleFor(["passwd", "chpasswd", "userdel", "deluser"], "passwd", "changes the accounts of the machine", always),
  ruleFor(["visudo", "sudoedit"], "visudo", "changes who may act as administrator", always),
  ruleFor(["kill"], "kill -9", "kills processes without letting them finish", killsAtOnce),
  ruleFor(["pkill"], "pkill -9", "kills processes without letting them finish", killsAtOnce),
  ruleFor(["killall", "killall5"], "killall", "ends every process of a name", always),
  ruleFor(["shutdown", "stop-computer"], "shutdown", "shuts the machine down", always),
  ruleFor(["reboot", "restart-computer"], "reboot", "starts the machine anew", always),
  ruleFor(["halt"], "halt", "halts the machine", always),
  ruleFor(["poweroff"], "poweroff", "turns the machine off", always),
  ruleFor(["init", "telinit"], "init 0", "changes the run level of the machine", ({ args }) =>
    when(hasOperand(args, /^[06]$/)),
  ),
  ruleFor(["systemctl", "service", "launchctl", "sc"], "systemctl stop", "stops services of the machine", ({ args }) =>
    when(args.some((word) => stops.has(word.toLowerCase()))),
  ),
]
