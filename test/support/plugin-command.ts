/** `svc plugin …` in this process: what it writes, and how it ends. One at a time. */
import { CommanderError } from "commander"
import { pluginCommand } from "#runtime/cli/plugin/command.ts"

export interface Ended {
  readonly exit: number
  readonly out: string
  readonly err: string
}

export const plugin = async (...args: ReadonlyArray<string>): Promise<Ended> => {
  const written = { out: "", err: "" }
  const [out, err, exitCode] = [process.stdout.write, process.stderr.write, process.exitCode]
  const into = (which: "out" | "err") => (text: string | Uint8Array) => {
    written[which] += String(text)
    return true
  }
  process.stdout.write = into("out")
  process.stderr.write = into("err")
  try {
    await pluginCommand().parseAsync([...args], { from: "user" })
    return { exit: Number(process.exitCode ?? 0), ...written }
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return { exit: error.exitCode === 0 ? 0 : 2, ...written }
  } finally {
    process.stdout.write = out
    process.stderr.write = err
    process.exitCode = exitCode
  }
}
