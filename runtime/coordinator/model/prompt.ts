/** Prompts: Markdown beside this file, with `{{slots}}`. What comes from people, repositories or models is fenced. */
import { readFileSync } from "node:fs"

type PromptName = "outcome-spec" | "decompose" | "rubberduck" | "rai" | "autopilot" | "scribe"

/** The prompt with its slots filled. A slot that is not filled is a mistake of ours, and throws. */
export const prompt = (name: PromptName, slots: Readonly<Record<string, string>> = {}): string =>
  readFileSync(new URL(`./prompts/${name}.md`, import.meta.url), "utf8").replace(
    /\{\{(\w+)\}\}/g,
    (_, slot: string) => {
      const value = slots[slot]
      if (value === undefined) throw new Error(`the prompt ${name} has no value for ${slot}`)
      return value
    },
  )

/**
 * The one envelope in which texts of others are shown to a model. JSON, with everything but plain ASCII and with
 * every angle bracket escaped: nothing in it can look like the end of it.
 */
export const envelope = (data: Readonly<Record<string, unknown>>): string =>
  `<data>\n${JSON.stringify(data, null, 1).replace(/[<>\u007f-\uffff]/g, escaped)}\n</data>`

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
