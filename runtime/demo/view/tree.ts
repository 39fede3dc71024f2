/** The plan as lines of a terminal, as it stands at one moment. Pure: time, width and colours are given. */
import { lineOf } from "#runtime/demo/view/clean.ts"
import { type Row, type Stage, type StageState, type Story, stages } from "#runtime/demo/view/story.ts"

export type Colour = "dim" | "green" | "red" | "yellow" | "cyan" | "bold"
export type Paint = (colour: Colour, text: string) => string

export const noColours: Paint = (_, text) => text

interface Moment {
  readonly elapsedMillis: number
  /** Characters of a line. */
  readonly width: number
  readonly paint: Paint
}

const spinner = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"]
/** Milliseconds of one picture of it. */
export const frame = 100

const stageNames: Readonly<Record<Stage, string>> = {
  rai: "Responsible AI",
  "build-test": "Build & Test",
  rubberduck: "Critique",
  "human-review": "Review",
  merge: "Merge",
}

export const treeOf = (story: Story, { elapsedMillis, width, paint }: Moment): ReadonlyArray<string> => {
  const turning = paint("cyan", spinner[Math.floor(elapsedMillis / frame) % spinner.length] ?? "")
  const seconds = Math.floor(elapsedMillis / 1000)
  const places = new Map(story.rows.map(({ id, place }) => [id, place]))
  const depths = depthsOf(story.rows)
  const titles = Math.max(...story.rows.map(({ id, title }) => title.length + 2 * (depths.get(id) ?? 0)), 0)
  const rows = story.rows.map((row) => {
    const indent = "  ".repeat(depths.get(row.id) ?? 0)
    const title = `${indent}${row.place} ${lineOf(row.title)}`.padEnd(titles + 4)
    // what is painted is not counted: the marks of colours take no place
    const room = Math.max(width - title.length - 6, 10)
    return `  ${glyphOf(row, turning, paint)} ${title}${paint("dim", lineOf(detailOf(row, story.rows, places), room))}`
  })
  const asked = stages.filter((stage) => story.stages[stage] !== undefined)
  const gates = asked.map((stage) => `${markOf(story.stages[stage] ?? "waits", turning, paint)} ${stageNames[stage]}`)
  return [
    `${story.end === null ? turning : "•"} ${paint("bold", story.phase)} ${paint("dim", `${seconds} s, ${story.events} events`)}`,
    ...rows,
    ...(gates.length === 0 ? [] : [`  ${gates.join("   ")}`]),
  ]
}

const isDone = ({ status }: Row): boolean => status === "assemble_ready" || status === "completed"
const isStopped = ({ status }: Row): boolean => status === "failed" || status === "rai_flagged"

const glyphOf = (row: Row, turning: string, paint: Paint): string => {
  if (isDone(row)) return paint("green", "✔")
  if (isStopped(row)) return paint("red", "✖")
  return row.status === "dispatched" || row.status === "running" ? turning : paint("dim", "·")
}

const markOf = (state: StageState, turning: string, paint: Paint): string => {
  switch (state) {
    case "passed":
      return paint("green", "✔")
    case "rejected":
      return paint("yellow", "↩")
    case "runs":
      return turning
    case "waits":
      return paint("dim", "·")
  }
}

const detailOf = (row: Row, rows: ReadonlyArray<Row>, places: ReadonlyMap<number, number>): string => {
  const attempt = row.attempt > 1 ? ` (try ${row.attempt})` : ""
  const who = `${row.agent}${attempt}`
  if (row.status !== "pending") return row.last === "" || isDone(row) ? who : `${who}: ${row.last}`
  const open = rows.filter((other) => row.dependsOn.includes(other.id) && !isDone(other))
  return open.length === 0 ? who : `after ${open.map(({ id }) => places.get(id)).join(", ")}`
}

/** How long the longest way to a subtask is. A circle, which no plan has, ends after as many steps as there are rows. */
const depthsOf = (rows: ReadonlyArray<Row>): ReadonlyMap<number, number> => {
  const depths = new Map(rows.map(({ id }) => [id, 0]))
  for (const _ of rows) {
    for (const { id, dependsOn } of rows) {
      const deepest = Math.max(-1, ...dependsOn.map((other) => depths.get(other) ?? -1))
      depths.set(id, Math.min(deepest + 1, rows.length))
    }
  }
  return depths
}
