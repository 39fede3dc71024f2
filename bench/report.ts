/** What a bench reports: a table for people, ratios and figures for machines. */

export interface Report {
  readonly title: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string | number>>
  readonly notes?: ReadonlyArray<string>
  /** Against a peer or a floor of the same run: what can be compared between machines. */
  readonly ratios: Record<string, number>
  /** Absolute: of this machine only. */
  readonly figures: Record<string, number>
}

export interface BenchOptions {
  /** Shorter windows: shows that the bench works, not what it measures. */
  readonly quick: boolean
}

export type Bench = (options: BenchOptions) => Promise<Report>

export const round = (value: number, digits = 2): number => Number(value.toFixed(digits))

/** The value below which the share `p` of the samples lies; sorts in place. */
export const percentile = (samples: Array<number>, p: number): number => {
  samples.sort((a, b) => a - b)
  return samples[Math.min(samples.length - 1, Math.floor(samples.length * p))] ?? Number.NaN
}

export const median = (values: ReadonlyArray<number>): number => percentile([...values], 0.5)

export const printReport = (bench: string, report: Report): void => {
  const table = [report.columns, ...report.rows].map((row) => row.map(String))
  const widths = report.columns.map((_, i) => Math.max(...table.map((row) => row[i]?.length ?? 0)))
  console.log(`\n${report.title}\n`)
  for (const row of table) {
    console.log(
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  "),
    )
  }
  for (const note of report.notes ?? []) console.log(`\n${note}`)
  console.log(`\n${JSON.stringify({ bench, ratios: report.ratios, figures: report.figures })}`)
}
