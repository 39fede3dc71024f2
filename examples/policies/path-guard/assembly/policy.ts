import { Config } from "@extism/as-pdk"
import { Json } from "./json"
import { allow, ask, refuse } from "./question"

/** What an operator did not set otherwise, by the setting `protected`: paths with commas between them. */
const usual = ".git/,.github/,.env,deploy/"

/**
 * Tools that are given a path keep out of protected ones, whatever the argument is called and however the path is spelled. Reading is no
 * exception: what an agent has read, it can repeat.
 */
export function decide(): i32 {
  const call = ask()
  const setting = Config.get("protected")
  const guarded = (setting === null ? usual : setting).split(",")
  const found = protectedIn(call.arguments, guarded)
  if (found === null) return allow()
  return refuse(call.toolName + " may not touch " + found + ": it is changed by people. Say in your summary what it needs.")
}

/** The first protected path among all texts of the arguments, at any depth. */
function protectedIn(value: Json, guarded: string[]): string | null {
  if (value.text.length > 0) {
    const path = plain(value.text)
    for (let at = 0; at < guarded.length; at++) {
      const one = guarded[at].trim()
      if (one.length > 0 && (path.startsWith(one) || path + "/" == one)) return path
    }
  }
  for (let at = 0; at < value.items.length; at++) {
    const found = protectedIn(value.items[at], guarded)
    if (found !== null) return found
  }
  return null
}

/** `./src/../.github//ci.yml` is `.github/ci.yml`, in the case that file systems without case would see. */
function plain(path: string): string {
  const parts = path.replaceAll("\\", "/").split("/")
  const kept: string[] = []
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]
    if (part == "..") {
      if (kept.length > 0) kept.pop()
    } else if (part.length > 0 && part != ".") kept.push(small(part))
  }
  return kept.join("/")
}

/** Letters of ASCII; the tables for all others would double the module. */
function small(text: string): string {
  let made = ""
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    made += String.fromCharCode(code >= 0x41 && code <= 0x5a ? code + 0x20 : code)
  }
  return made
}
